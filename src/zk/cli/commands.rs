//! The commands that ask a server: their usage, and what each makes of its words.
//!
//! What is done with the answers is in `job`.
//!
//! *Invariant: the table is in the order in which the real client lists its commands.*

use std::sync::Arc;

use super::Refusal;
use super::job::{Job, Manner};
use super::line::Line;
use super::quota::Quota;
use crate::zk::acl::{Acl, AuthId, Entry, Perms};
use crate::zk::path::{Path, PathError};
use crate::zk::quota::{self, Track};
use crate::zk::release::Release;
use crate::zk::request::{Create, CreateKind, Op, mode, watch_mode, watcher_type};
use crate::zk::stat::{Bytes, Millis, Owner};

/// What a command comes to.
pub enum Start {
    /// Requests, one after the other.
    Job(Job),
    /// Something to print, and nothing else.
    Print(String),
    /// Credentials, which nobody waits for.
    Authenticate(Path, Bytes),
    /// The end of the session.
    Close,
}

/// What one command makes of its words; what it prints at once goes behind what was said before.
type Read = fn(&Line, &mut String) -> Result<Start, Refusal>;

/// One command.
pub struct Command {
    /// As it is typed.
    pub name: &'static str,
    usage: &'static str,
    options: &'static str,
    /// How many words it needs, itself included.
    least: u8,
    /// None if the program sees to it without a server.
    read: Option<Read>,
}

const fn row(
    name: &'static str,
    usage: &'static str,
    (options, least): (&'static str, u8),
    read: Read,
) -> Command {
    Command { name, usage, options, least, read: Some(read) }
}

const fn own(name: &'static str, usage: &'static str) -> Command {
    Command { name, usage, options: "", least: 1, read: None }
}

/// Commands that were given up.
const LS2: &str = "ls2";
const RMR: &str = "rmr";

/// All commands.
// Source: ZooKeeperMain, and the classes of org.apache.zookeeper.cli.
const COMMANDS: &[Command] = &[
    row(
        "addWatch",
        "[-m mode] path # optional mode is one of [PERSISTENT, PERSISTENT_RECURSIVE] - default is \
         PERSISTENT_RECURSIVE",
        ("m:", 2),
        add_watch,
    ),
    row("addauth", "scheme auth", ("", 2), add_auth),
    row("close", "", ("", 1), |_, _| Ok(Start::Close)),
    row("config", "[-c] [-w] [-s]", ("swc", 1), config),
    own("connect", "host:port"),
    row("create", "[-s] [-e] [-c] [-t ttl] path [data] [acl]", ("esct:", 2), create),
    row("delete", "[-v version] path", ("v:", 2), delete),
    row("deleteall", "path [-b batch size]", ("b:", 2), delete_all),
    row("delquota", "[-n|-b|-N|-B] path", ("bnBN", 2), delete_quota),
    row("get", "[-s] [-w] path", ("sw", 2), get),
    row("getAcl", "[-s] path", ("s", 2), |line, _| {
        once(line, Op::GetAcl { path: path(&line.words[1])? })
    }),
    row("getAllChildrenNumber", "path", ("", 2), |line, _| {
        once(line, Op::GetAllChildrenNumber { path: path(&line.words[1])? })
    }),
    row("getEphemerals", "path", ("", 1), |line, _| {
        let prefix = line.words.get(1).map_or("/", String::as_str);
        once(line, Op::GetEphemerals { prefix: path(prefix)? })
    }),
    own("history", ""),
    row("listquota", "path", ("", 2), list_quota),
    row("ls", "[-s] [-w] [-R] path", ("swR", 2), ls),
    row(LS2, "path [watch]", ("", 2), |line, said| {
        said.push_str("'ls2' has been deprecated. Please use 'ls [-s] path' instead.\n");
        let (path, watch) = (path(&line.words[1])?, line.words.len() > 2);
        let manner = Manner::Once { with_stat: true };
        Ok(Start::Job(Job::new([Op::GetChildren2 { path, watch }], manner)))
    }),
    own("printwatches", "on|off"),
    own("quit", ""),
    row(
        "reconfig",
        "[-s] [-v version] [[-file path] | [-members serverID=host:port1:port2;port3[,...]*]] | \
         [-add serverId=host:port1:port2;port3[,...]]* [-remove serverId[,...]*]",
        ("", 1),
        |_, _| Err(Refusal::said("KeeperErrorCode = Reconfig is disabled")),
    ),
    own("redo", "cmdno"),
    row("removewatches", "path [-c|-d|-a] [-l]", ("cdal", 2), remove_watches),
    row(RMR, "path", ("", 2), |line, said| {
        said.push_str("The command 'rmr' has been deprecated. Please use 'deleteall' instead.\n");
        delete_all(line, said)
    }),
    row("set", "[-s] [-v version] path data", ("sv:", 3), set),
    row("setAcl", "[-s] [-v version] [-R] path acl", ("sv:R", 3), set_acl),
    row("setquota", "-n|-b|-N|-B val path", ("b:n:B:N:", 1), set_quota),
    row("stat", "[-w] path", ("w", 2), stat),
    row("sync", "path", ("", 2), |line, _| once(line, Op::Sync { path: path(&line.words[1])? })),
    row("version", "", ("", 1), |line, _| {
        let version = line.release.full_version();
        Ok(Start::Print(["ZooKeeper CLI version: ", version, "\n"].concat()))
    }),
    row("whoami", "", ("", 1), |line, _| once(line, Op::WhoAmI)),
];

/// What is printed when nobody knows what was meant.
// Source: ZooKeeperMain.usage.
pub fn usage(release: Release) -> String {
    let file = match release.shell_has_old_commands() {
        true => "",
        false => "-client-configuration properties-file ",
    };
    let mut text = ["ZooKeeper -server host:port ", file, "cmd args\n"].concat();
    for command in COMMANDS.iter().filter(|command| command.is_in(release)) {
        text += &["\t", command.name, " ", command.form_in(release).0, "\n"].concat();
    }
    text
}

/// The command of this name.
pub fn find(name: &str, release: Release) -> Option<&'static Command> {
    COMMANDS.iter().find(|command| command.name == name && command.is_in(release))
}

/// All commands of a release.
pub fn names(release: Release) -> Vec<&'static str> {
    let known = COMMANDS.iter().filter(|command| command.is_in(release));
    known.map(|command| command.name).collect()
}

impl Command {
    fn is_in(&self, release: Release) -> bool {
        match self.name {
            LS2 | RMR => release.shell_has_old_commands(),
            name => release.shell_has_command(name),
        }
    }

    /// How it is used, and its options, as [`Line::read`] takes them.
    // Source: DeleteAllCommand, SetQuotaCommand, DelQuotaCommand (3.5, 3.6).
    fn form_in(&self, release: Release) -> (&'static str, &'static str) {
        match self.name {
            "deleteall" if release.shell_has_old_commands() => ("path", ""),
            "delquota" if !release.enforces_quotas() => ("[-n|-b] path", "bn"),
            "setquota" if !release.enforces_quotas() => ("-n|-b val path", "b:n:"),
            _ => (self.usage, self.options),
        }
    }

    /// What the words come to. `said` gets what is printed at once.
    // Source: CliCommand.parse, CliCommand.exec.
    pub fn read(
        &self,
        words: &[String],
        release: Release,
        said: &mut String,
    ) -> Result<Start, Refusal> {
        let Some(read) = self.read else { return Ok(Start::Print(String::new())) };
        let line = self.line(words, release)?;
        let Some(complaint) = self.rewritten(&line) else { return read(&line, said) };
        said.push_str(complaint);
        let mut words = words.to_vec();
        if self.name != "delete" {
            words[2] = "-w".to_owned();
        }
        read(&self.line(&words, release)?, said)
    }

    fn line(&self, words: &[String], release: Release) -> Result<Line, Refusal> {
        let (usage, options) = self.form_in(release);
        let line = if self.name == "reconfig" {
            Line::read(release, "", &words[..1])?
        } else {
            Line::read(release, options, words)?
        };
        if line.words.len() < usize::from(self.least) {
            return Err(Refusal::Said([self.name, " ", usage, "\n"].concat()));
        }
        Ok(line)
    }

    /// Old forms are complained of, and their third word is taken for `-w`, whatever it is.
    // Source: LsCommand.retainCompatibility and the like.
    fn rewritten(&self, line: &Line) -> Option<&'static str> {
        let told = match self.name {
            "ls" => "'ls path [watch]' has been deprecated. Please use 'ls [-w] path' instead.\n",
            "get" => {
                "'get path [watch]' has been deprecated. Please use 'get [-s] [-w] path' instead.\n"
            }
            "stat" => {
                "'stat path [watch]' has been deprecated. Please use 'stat [-w] path' instead.\n"
            }
            "delete" => {
                "'delete path [version]' has been deprecated. \
                 Please use 'delete [-v version] path' instead.\n"
            }
            _ => return None,
        };
        (line.words.len() > 2).then_some(told)
    }
}

fn once(line: &Line, op: Op) -> Result<Start, Refusal> {
    Ok(Start::Job(Job::new([op], Manner::Once { with_stat: line.has('s') })))
}

/// A path as the client library takes it.
// Source: PathUtils.validatePath, which the library asks before anything is sent.
fn path(text: &str) -> Result<Path, Refusal> {
    checked(text, text).map_err(|told| Refusal::Said(told + "\n"))
}

/// `text`, if `whole` can be a path; else what the exception says.
fn checked(text: &str, whole: &str) -> Result<Path, String> {
    invalid(whole).map_or_else(|| Ok(Path::new(text)), Err)
}

/// What the exception says, if `whole` cannot be a path.
pub(super) fn invalid(whole: &str) -> Option<String> {
    let told = |error: PathError| match error {
        PathError::Empty | PathError::NoLeadingSlash | PathError::TrailingSlash => {
            error.to_string()
        }
        _ => format!("Invalid path string \"{whole}\" caused by {error}"),
    };
    crate::zk::path::validate(whole).map_err(told).err()
}

pub(super) fn uncaught(exception: &str, told: &str) -> Refusal {
    Refusal::Died(["Exception in thread \"main\" java.lang.", exception, ": ", told, "\n"].concat())
}

fn not_a_number(text: &str) -> Refusal {
    uncaught("NumberFormatException", &["For input string: \"", text, "\""].concat())
}

/// `-v`; one that is no number ends the program.
fn version(line: &Line) -> Result<i32, Refusal> {
    line.value('v').map_or(Ok(-1), |text| text.parse().map_err(|_| not_a_number(text)))
}

fn add_watch(line: &Line, _: &mut String) -> Result<Start, Refusal> {
    let mode = match line.value('m').map(str::to_uppercase).as_deref() {
        None | Some("PERSISTENT_RECURSIVE") => Some(watch_mode::PERSISTENT_RECURSIVE),
        Some("PERSISTENT") => Some(watch_mode::PERSISTENT),
        Some(_) => None,
    };
    let command = find("addWatch", line.release).expect("it is being run");
    let [_, text] = line.words.as_slice() else {
        return Err(Refusal::Said([command.name, " ", command.usage, "\n"].concat()));
    };
    let Some(mode) = mode else {
        return Err(Refusal::Said([command.name, " ", command.usage, "\n"].concat()));
    };
    let path = checked(text, text).map_err(|told| uncaught("IllegalArgumentException", &told))?;
    once(line, Op::AddWatch { path, mode })
}

fn add_auth(line: &Line, _: &mut String) -> Result<Start, Refusal> {
    let auth = line.words.get(2).map_or(Bytes::NULL, |auth| Bytes::from(auth.as_str()));
    Ok(Start::Authenticate(Path::new(&line.words[1]), auth))
}

fn config(line: &Line, _: &mut String) -> Result<Start, Refusal> {
    once(line, Op::GetData { path: Path::new("/zookeeper/config"), watch: line.has('w') })
}

// Source: CreateCommand.exec, ZooKeeper.create.
fn create(line: &Line, said: &mut String) -> Result<Start, Refusal> {
    let [ephemeral, sequential, container] = ['e', 's', 'c'].map(|letter| line.has(letter));
    if container && (ephemeral || sequential) {
        return Err(Refusal::said(
            "-c cannot be combined with -s or -e. Containers cannot be ephemeral or sequential.",
        ));
    }
    let ttl = ttl(line)?;
    let (kind, flags) = match (ephemeral, sequential, ttl) {
        (true, true, _) => (CreateKind::Create, mode::EPHEMERAL_SEQUENTIAL),
        (true, false, _) => (CreateKind::Create, mode::EPHEMERAL),
        (false, true, Some(_)) => (CreateKind::Ttl, mode::TTL_SEQUENTIAL),
        (false, true, None) => (CreateKind::Create, mode::PERSISTENT_SEQUENTIAL),
        _ if container => (CreateKind::Container, mode::CONTAINER),
        (false, false, Some(_)) => (CreateKind::Ttl, mode::TTL),
        (false, false, None) => (CreateKind::Create, mode::PERSISTENT),
    };
    let text = line.words[1].as_str();
    let data = line.words.get(2).map_or(Bytes::NULL, |data| Bytes::from(data.as_str()));
    let acl = line.words.get(3).map(|text| read_acl(text, said));
    let whole = if sequential { [text, "1"].concat() } else { text.to_owned() };
    let path = checked(text, &whole).map_err(|told| Refusal::Said(told + "\n"))?;
    let acl = match acl {
        None => Acl::open(),
        Some(entries) => nonempty(entries).inspect_err(|_| {
            said.push_str("KeeperErrorCode = InvalidACL\n");
        })?,
    };
    let ttl = ttl.unwrap_or_default();
    once(line, Op::Create(Arc::new(Create { kind, path, data, acl, flags, ttl })))
}

// Source: CreateCommand.exec, EphemeralType.TTL.toEphemeralOwner.
fn ttl(line: &Line) -> Result<Option<Millis>, Refusal> {
    let Some(text) = line.value('t') else { return Ok(None) };
    let Ok(ttl) = text.parse() else {
        return Err(Refusal::said("-t argument must be a long value"));
    };
    match Millis(ttl) {
        _ if line.has('e') => Err(Refusal::said("TTLs cannot be used with Ephemeral znodes")),
        _ if line.has('c') => Err(Refusal::said("TTLs cannot be used with Container znodes")),
        ttl if ttl > Millis(0) && ttl <= Owner::MAX_TTL => Ok(Some(ttl)),
        _ => Err(Refusal::said("ttl must be positive and cannot be larger than: 1099511627775")),
    }
}

/// An ACL as it is typed. What is no entry is left out, with a word about it.
// Source: AclParser.parse.
pub(super) fn read_acl(text: &str, said: &mut String) -> Vec<Entry> {
    let mut entries = Vec::new();
    for part in text.split(',') {
        let parts = part.split_once(':').and_then(|(scheme, rest)| {
            let (id, letters) = rest.rsplit_once(':')?;
            Some((AuthId::new(scheme, id), letters))
        });
        let Some((who, letters)) = parts else {
            said.push_str(&[part, " does not have the form scheme:id:perm\n"].concat());
            continue;
        };
        let mut perms = Perms(0);
        for letter in letters.chars() {
            match Perms::parse(letter.encode_utf8(&mut [0; 4])) {
                Some(more) => perms.0 |= more.0,
                None => said.push_str(&format!("Unknown perm type: {letter}\n")),
            }
        }
        entries.push(Entry { perms, who });
    }
    entries
}

/// The library refuses an ACL without entries.
// Source: ZooKeeper.validateACL.
pub(super) fn nonempty(entries: Vec<Entry>) -> Result<Acl, Refusal> {
    match entries.is_empty() {
        true => Err(Refusal::said("Acl is not valid : null")),
        false => Ok(Acl::new(entries)),
    }
}

fn delete(line: &Line, _: &mut String) -> Result<Start, Refusal> {
    let version = version(line)?;
    once(line, Op::Delete { path: path(&line.words[1])?, version })
}

// Source: DeleteAllCommand.exec, ZKUtil.deleteRecursive.
fn delete_all(line: &Line, _: &mut String) -> Result<Start, Refusal> {
    let in_batches = !line.release.shell_has_old_commands();
    let batch = line.value('b').map_or(Ok(1000), str::parse);
    let batch = batch.map_err(|_| Refusal::said("-b argument must be an int value"))?;
    let batch = Some(batch).filter(|_| in_batches);
    let path = path(&line.words[1])?;
    let list = Op::GetChildren2 { path: path.clone(), watch: false };
    Ok(Start::Job(Job::new([list], Manner::DeleteAll { batch, found: vec![path] })))
}

fn get(line: &Line, _: &mut String) -> Result<Start, Refusal> {
    once(line, Op::GetData { path: path(&line.words[1])?, watch: line.has('w') })
}

// Source: LsCommand.exec, ZKUtil.visitSubTreeDFS.
fn ls(line: &Line, _: &mut String) -> Result<Start, Refusal> {
    let (path, watch) = (path(&line.words[1])?, line.has('w'));
    match line.has('R') {
        true => Ok(Start::Job(Job::new([Op::GetData { path, watch }], Manner::ListAll))),
        false => once(line, Op::GetChildren2 { path, watch }),
    }
}

fn remove_watches(line: &Line, _: &mut String) -> Result<Start, Refusal> {
    let kinds = [('c', watcher_type::CHILDREN), ('d', watcher_type::DATA)];
    let kind = kinds.iter().find(|(letter, _)| line.has(*letter));
    let kind = kind.map_or(watcher_type::ANY, |(_, kind)| *kind);
    once(line, Op::RemoveWatches { path: path(&line.words[1])?, kind })
}

fn set(line: &Line, _: &mut String) -> Result<Start, Refusal> {
    let (data, version) = (Bytes::from(line.words[2].as_str()), version(line)?);
    once(line, Op::SetData { path: path(&line.words[1])?, data, version })
}

// Source: SetAclCommand.exec, ZooKeeper.setACL.
fn set_acl(line: &Line, said: &mut String) -> Result<Start, Refusal> {
    let entries = read_acl(&line.words[2], said);
    let (version, path) = (version(line)?, path(&line.words[1])?);
    if line.has('R') {
        let manner = Manner::SetAcl { acl: Acl::new(entries), version };
        return Ok(Start::Job(Job::new([Op::GetData { path, watch: false }], manner)));
    }
    once(line, Op::SetAcl { path, acl: nonempty(entries)?, version })
}

fn stat(line: &Line, _: &mut String) -> Result<Start, Refusal> {
    once(line, Op::Exists { path: path(&line.words[1])?, watch: line.has('w') })
}

/// Only one of the four letters may be given.
// Source: OptionGroup.setSelected, AlreadySelectedException (commons-cli).
fn quota_letter(line: &Line) -> Result<Option<char>, Refusal> {
    let given = line.options();
    let Some((first, _)) = given.first() else { return Ok(None) };
    match given.iter().find(|(letter, _)| letter != first) {
        None => Ok(Some(*first)),
        Some((second, _)) => Err(Refusal::said(&format!(
            "org.apache.commons.cli.AlreadySelectedException: The option '{second}' was specified \
             but an option from this group has already been selected: '{first}'"
        ))),
    }
}

// Source: SetQuotaCommand.parse, exec, checkOptionValue (3.8).
fn set_quota(line: &Line, _: &mut String) -> Result<Start, Refusal> {
    let Some(letter) = quota_letter(line)? else {
        return Err(Refusal::said(
            "org.apache.commons.cli.MissingOptionException: Missing required option: \
             [-n num soft quota, -b bytes soft quota, -N num hard quota, -B bytes hard quota]",
        ));
    };
    let Some(text) = line.words.get(1) else {
        return Err(Refusal::said("setquota -n|-b|-N|-B val path"));
    };
    if text.starts_with(quota::QUOTAS) {
        return Err(Refusal::said("cannot set a quota under the path: /zookeeper/quota"));
    }
    let value = line.value(letter).unwrap_or_default();
    let value = match letter {
        'n' | 'N' => value.parse::<i32>().map(i64::from),
        _ => value.parse::<i64>(),
    };
    let Ok(value) = value else {
        return Err(Refusal::said("NumberFormatException happens when parsing the option value"));
    };
    // Source: they are set to -1, and so written.
    let hard = line.release.enforces_quotas().then_some(-1);
    let none = Track { byte_hard_limit: hard, count_hard_limit: hard, ..Track::NONE };
    let limits = match letter {
        'n' | 'N' if value <= 0 => {
            return Err(Refusal::said("the num quota must be greater than zero"));
        }
        'b' | 'B' if value < 0 => {
            return Err(Refusal::said("the bytes quota must be greater than or equal to zero"));
        }
        'n' => Track { count: value, ..none },
        'b' => Track { bytes: value, ..none },
        'N' => Track { count_hard_limit: Some(value), ..none },
        _ => Track { byte_hard_limit: Some(value), ..none },
    };
    let path = path(text)?;
    if path.as_str() == "/" {
        return Err(Refusal::said("Path must not end with / character"));
    }
    let (tasks, quota) = Quota::set(path, limits);
    Ok(Start::Job(Job::new(tasks, Manner::Quota(quota))))
}

// Source: DelQuotaCommand.parse, exec (3.8).
fn delete_quota(line: &Line, _: &mut String) -> Result<Start, Refusal> {
    let letter = quota_letter(line)?;
    path(&quota::at(&line.words[1], quota::LIMITS))?;
    let (tasks, quota) = Quota::delete(Path::new(&line.words[1]), letter);
    Ok(Start::Job(Job::new(tasks, Manner::Quota(quota))))
}

// Source: ListQuotaCommand.exec (3.8).
fn list_quota(line: &Line, said: &mut String) -> Result<Start, Refusal> {
    let limits = quota::at(&line.words[1], quota::LIMITS);
    said.push_str(&["absolute path is ", &limits, "\n"].concat());
    path(&limits)?;
    let (tasks, quota) = Quota::list(Path::new(&line.words[1]));
    Ok(Start::Job(Job::new(tasks, Manner::Quota(quota))))
}
