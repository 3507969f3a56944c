//! Finishes a built site: `pack FOLDER`. Inline scripts become files named by their hash, the style
//! sheets one, the page gets its content security policy, hosts that read `_headers` get theirs;
//! last comes the site's weight.
//! *Invariant: no script runs in the built page that is not a file of its own origin.*

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use base64::Engine;
use sha2::Digest;

#[path = "../tests/support/weight.rs"]
mod weight;

use weight::Weight;

/// What the page may do. A policy in the page cannot forbid being framed; `_headers` can.
const POLICY: &str = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; \
    img-src 'self' data: blob:; connect-src 'self'; font-src 'self'; worker-src 'self'; \
    manifest-src 'self'; base-uri 'none'; form-action 'none'";

fn main() -> ExitCode {
    let Some(folder) = std::env::args_os().nth(1).map(PathBuf::from) else {
        eprintln!("usage: pack FOLDER");
        return ExitCode::from(2);
    };
    match pack(&folder).and_then(|()| weigh(&folder)) {
        Ok(Weight { brotli, gzip }) => {
            println!("weight: {} KB brotli, {} KB gzip", in_kb(brotli), in_kb(gzip));
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{}: {error}", folder.display());
            ExitCode::FAILURE
        }
    }
}

fn pack(folder: &Path) -> std::io::Result<()> {
    for file in weight::files(folder)? {
        if file.extension().is_some_and(|ending| ending == "wasm") {
            std::fs::write(&file, without_names(&std::fs::read(&file)?))?;
        }
    }
    let page = folder.join("index.html");
    let (html, scripts) = outline_scripts(&std::fs::read_to_string(&page)?);
    let html = with_one_style(&html, folder)?;
    for (name, text) in scripts {
        std::fs::write(folder.join(name), text)?;
    }
    std::fs::write(&page, with_policy(&with_sums(&html, folder)?))?;
    let headers = format!(
        "/*\n  Content-Security-Policy: {POLICY}; frame-ancestors 'self'\n  \
         X-Content-Type-Options: nosniff\n  Referrer-Policy: no-referrer\n"
    );
    std::fs::write(folder.join("_headers"), headers)?;
    std::fs::write(folder.join(".nojekyll"), "")
}

/// A wasm module without the sections that are there for people: functions' names and tools' own.
fn without_names(module: &[u8]) -> Vec<u8> {
    const HEAD: usize = 8;
    const CUSTOM: u8 = 0;
    let mut kept = module[..HEAD].to_vec();
    let mut at = HEAD;
    while at < module.len() {
        let (size, start) = number(module, at + 1);
        let end = start + size;
        let is_for_people = module[at] == CUSTOM && {
            let (length, name) = number(module, start);
            matches!(&module[name..name + length], b"name" | b"producers")
        };
        if !is_for_people {
            kept.extend_from_slice(&module[at..end]);
        }
        at = end;
    }
    kept
}

/// The number at a place, seven bits a byte as wasm writes it, and the place behind it.
fn number(module: &[u8], mut at: usize) -> (usize, usize) {
    let (mut value, mut shift) = (0, 0);
    loop {
        let byte = module[at];
        value |= usize::from(byte & 0x7f) << shift;
        (at, shift) = (at + 1, shift + 7);
        if byte < 0x80 {
            return (value, at);
        }
    }
}

/// The page with each inline script replaced by a reference, and the files referred to.
fn outline_scripts(html: &str) -> (String, Vec<(String, String)>) {
    let (mut page, mut scripts) = (String::new(), Vec::new());
    let mut rest = html;
    while let Some(start) = rest.find("<script") {
        let open = start + rest[start..].find('>').expect("a tag ends") + 1;
        let end = open + rest[open..].find("</script>").expect("a script ends");
        let (tag, text) = (&rest[start..open], rest[open..end].trim());
        page.push_str(&rest[..start]);
        if tag.contains(" src=") || text.is_empty() {
            page.push_str(&rest[start..end]);
        } else {
            let name = hashed("boot", text, "js");
            page.push_str(&format!("{} src=\"./{name}\">", tag.trim_end_matches('>')));
            scripts.push((name, format!("{text}\n")));
        }
        rest = &rest[end..];
    }
    page.push_str(rest);
    (page, scripts)
}

/// The page with its style sheets in one file, in their order: together they compress better.
fn with_one_style(html: &str, folder: &Path) -> std::io::Result<String> {
    const SHEET: &str = "<link rel=\"stylesheet\"";
    let sheets: Vec<&str> =
        html.split_inclusive('>').filter(|tag| tag.trim_start().starts_with(SHEET)).collect();
    if sheets.len() < 2 {
        return Ok(html.to_owned());
    }
    let (mut style, mut page) = (String::new(), html.to_owned());
    for sheet in &sheets {
        let file = folder.join(attribute(sheet, "href"));
        style.push_str(&std::fs::read_to_string(&file)?);
        std::fs::remove_file(file)?;
        page = page.replacen(sheet, "", 1);
    }
    let name = hashed("style", &style, "css");
    std::fs::write(folder.join(&name), style)?;
    let link = format!("{SHEET} href=\"./{name}\" integrity=\"sha384-\"/>\n</head>");
    Ok(page.replacen("</head>", &link, 1))
}

/// A file's name that tells what it holds.
fn hashed(name: &str, text: &str, ending: &str) -> String {
    let hash = sha1_smol::Sha1::from(text).digest().to_string();
    format!("{name}-{}.{ending}", &hash[..16])
}

/// The page with each file's sum as the file is now: it may have been made smaller since.
fn with_sums(html: &str, folder: &Path) -> std::io::Result<String> {
    const SUM: &str = "integrity=\"sha384-";
    let mut page = String::new();
    for part in html.split_inclusive('>') {
        let Some(start) = part.find(SUM).map(|start| start + SUM.len()) else {
            page.push_str(part);
            continue;
        };
        let end = start + part[start..].find('"').expect("an attribute ends");
        let bytes = std::fs::read(folder.join(attribute(part, "href")))?;
        let sum = base64::engine::general_purpose::STANDARD.encode(sha2::Sha384::digest(bytes));
        page.push_str(&format!("{}{sum}{}", &part[..start], &part[end..]));
    }
    Ok(page)
}

/// An attribute's value; empty if the tag has none of that name.
fn attribute<'a>(tag: &'a str, name: &str) -> &'a str {
    tag.split_once(&format!("{name}=\"")).and_then(|(_, rest)| rest.split('"').next()).unwrap_or("")
}

/// The policy must stand before whatever it is to hold for.
fn with_policy(html: &str) -> String {
    const ELEMENT: &str = "<meta http-equiv=\"Content-Security-Policy\"";
    if html.contains(ELEMENT) {
        return html.to_owned();
    }
    let head = html.find("<head>").expect("the page has a head") + "<head>".len();
    format!("{}\n{ELEMENT} content=\"{POLICY}\">{}", &html[..head], &html[head..])
}

/// All files' weight; each is named with its own.
fn weigh(folder: &Path) -> std::io::Result<Weight> {
    let mut whole = Weight::default();
    for file in weight::files(folder)? {
        let own = Weight::of(&file)?;
        println!("{:>9} {:>9}  {}", own.brotli, own.gzip, file.display());
        whole = whole.plus(own);
    }
    Ok(whole)
}

/// Kilobytes of 1024, to a tenth, rounded up.
fn in_kb(bytes: usize) -> String {
    let tenths = (bytes * 10).div_ceil(1024);
    format!("{}.{}", tenths / 10, tenths % 10)
}
