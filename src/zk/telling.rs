//! What servers tell people of the txns that they apply, and by what clock.
//!
//! *Invariant: facts follow from txns alone, so that every server could tell the same.*

use super::stat::Millis;
use super::txn::{Txn, TxnBody};
use super::words::{Fact, Words};
use crate::sim::{Outbox, SimTime};

/// The wall clock of every server.
///
/// Real: each machine's own, which may be wrong or jump; here simulated time, because nothing but
/// ctime, mtime and TTLs depends on it.
pub fn wall_clock(now: SimTime) -> Millis {
    Millis(now.as_ms().cast_signed())
}

/// Tells what a txn has changed. Only one server of an ensemble tells it: the leader.
pub fn tell(txn: &Txn, out: &mut Outbox<'_, Words>) {
    match &txn.body {
        TxnBody::Multi(parts) => {
            let refusal = parts.iter().find(|part| part.is_refusal());
            match refusal {
                Some(refusal) => tell_body(txn, refusal, out),
                None => parts.iter().for_each(|part| tell_body(txn, part, out)),
            }
        }
        body => tell_body(txn, body, out),
    }
}

fn tell_body(txn: &Txn, body: &TxnBody, out: &mut Outbox<'_, Words>) {
    let (session, zxid) = (txn.session, txn.zxid);
    match body {
        TxnBody::CreateSession { timeout } => {
            out.tell(Fact::SessionOpened { session, timeout: *timeout });
        }
        TxnBody::CloseSession { paths } => {
            let ephemerals = u32::try_from(paths.len()).expect("fewer than 2^32 znodes");
            out.tell(Fact::SessionClosed { session, ephemerals });
            for path in paths.iter() {
                out.tell(Fact::ZnodeDeleted { path: path.clone(), zxid });
            }
        }
        TxnBody::Create(create) => {
            let (path, owner) = (create.path.clone(), create.owner(session));
            out.tell(Fact::ZnodeCreated { path, owner, zxid });
        }
        TxnBody::Delete { path } | TxnBody::DeleteContainer { path } => {
            out.tell(Fact::ZnodeDeleted { path: path.clone(), zxid });
        }
        TxnBody::SetData { path, version, .. } => {
            out.tell(Fact::ZnodeChanged { path: path.clone(), version: *version, zxid });
        }
        TxnBody::SetAcl { path, version, .. } => {
            out.tell(Fact::AclChanged { path: path.clone(), version: *version, zxid });
        }
        TxnBody::Error(error) => {
            out.tell(Fact::RequestRefused { session, error: *error, zxid });
        }
        TxnBody::Check { .. } | TxnBody::Multi(_) => {}
    }
}
