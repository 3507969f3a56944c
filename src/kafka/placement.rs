//! Where the replicas of a new topic go, and in which order a broker lists its peers for that.
//!
//! Not here: the draw of start and shift (the process draws), and who checks the replication
//! factor.
//!
//! *Invariant: the replicas of a partition are on different brokers, and on as many racks as there
//! are when racks are known.*

use super::id::BrokerId;
use crate::sim::{Draw, OrdMap, OrdSet};

/// Which broker of the list leads partition 0.
pub const START: Draw = Draw("placement-start");
/// How far from the first replica the second lies.
pub const SHIFT: Draw = Draw("placement-shift");

/// One broker that may get replicas.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Candidate {
    /// Its id.
    pub id: BrokerId,
    /// Its `broker.rack`.
    pub rack: Option<String>,
}

/// How many replicas to place, and where the dealing begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Deal {
    /// How many partitions.
    pub partitions: i32,
    /// Replicas of each.
    pub replication_factor: i32,
    /// Which broker of the list leads partition 0; drawn, or given when partitions are added.
    pub start: u32,
    /// How far from the first replica the second lies; drawn, or equal to `start`.
    pub shift: u32,
    /// The number of the first partition, above 0 when partitions are added.
    pub first_partition: i32,
}

/// Why nothing was placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlacementError {
    /// More replicas than brokers.
    #[error("replication factor {wanted} larger than available brokers {available}")]
    TooFewBrokers {
        /// Replicas of each partition.
        wanted: i32,
        /// Brokers there are.
        available: i32,
    },
    /// A replication factor or a partition count below one.
    #[error("a topic needs at least one partition and one replica")]
    Nothing,
    /// Some brokers have a rack and others have none.
    #[error("not all brokers have rack information")]
    RacksMissing,
}

/// The replicas of each partition; the first is the preferred leader.
pub type Placement = OrdMap<i32, Vec<BrokerId>>;

/// Deals replicas out over the brokers in the order given.
// Source: AdminUtils.assignReplicasToBrokers (3.9)
pub fn place(brokers: &[Candidate], deal: Deal) -> Result<Placement, PlacementError> {
    let available = i32::try_from(brokers.len()).expect("clusters are small");
    if deal.partitions < 1 || deal.replication_factor < 1 {
        return Err(PlacementError::Nothing);
    }
    if deal.replication_factor > available {
        return Err(PlacementError::TooFewBrokers { wanted: deal.replication_factor, available });
    }
    match brokers.iter().filter(|broker| broker.rack.is_some()).count() {
        0 => Ok(each_partition(brokers, deal, without_racks)),
        known if known < brokers.len() => Err(PlacementError::RacksMissing),
        _ => Ok(each_partition(&alternated_by_rack(brokers), deal, with_racks)),
    }
}

/// Brokers in the order in which a broker that handles CreateTopics lists them: a Scala hash
/// table's.
// Source: ZkMetadataCache.getAliveBrokers over scala.collection.mutable.LongMap
// Real: the table's size follows the snapshots before; here, it starts at 16 slots, because that
// is what clusters of a few brokers showed.
pub fn in_cache_order(brokers: &[BrokerId]) -> Vec<BrokerId> {
    let sorted: OrdSet<BrokerId> = brokers.iter().copied().collect();
    let mut table = Slots::new(15);
    for broker in sorted {
        table.insert(broker);
        if table.taken() * 2 > table.mask {
            table = table.doubled();
        }
    }
    table.slots.into_values().collect()
}

/// The slots of a Scala `LongMap`; key 0 is kept apart and comes first (slot -1 here).
struct Slots {
    mask: u32,
    slots: OrdMap<i64, BrokerId>,
}

impl Slots {
    fn new(mask: u32) -> Slots {
        Slots { mask, slots: OrdMap::new() }
    }

    fn taken(&self) -> u32 {
        u32::try_from(self.slots.keys().filter(|&&slot| slot >= 0).count()).expect("few brokers")
    }

    fn insert(&mut self, broker: BrokerId) {
        let slot = if broker.0 == 0 { -1 } else { self.free_slot(broker) };
        self.slots.insert(slot, broker);
    }

    fn free_slot(&self, broker: BrokerId) -> i64 {
        let mut slot = self.home(broker.0.cast_unsigned());
        let mut tries = 0u32;
        while self.slots.contains_key(&i64::from(slot)) {
            tries += 1;
            let step = (2 * (tries + 1) * tries).wrapping_sub(3);
            slot = slot.wrapping_add(step) & self.mask;
        }
        i64::from(slot)
    }

    fn home(&self, key: u32) -> u32 {
        let mixed = (key ^ (key >> 16)).wrapping_mul(0x85EB_CA6B);
        (mixed ^ (mixed >> 13)) & self.mask
    }

    fn doubled(self) -> Slots {
        let mut larger = Slots::new(self.mask * 2 + 1);
        for broker in self.slots.into_values() {
            larger.insert(broker);
        }
        larger
    }
}

/// Where one partition's dealing begins.
struct Turn {
    first: u32,
    shift: u32,
    replicas: u32,
}

fn each_partition(
    brokers: &[Candidate],
    deal: Deal,
    replicas_of: fn(&[Candidate], &Turn) -> Vec<BrokerId>,
) -> Placement {
    let count = size(brokers);
    let replicas = deal.replication_factor.cast_unsigned();
    let mut shift = deal.shift;
    let mut placement = Placement::new();
    for partition in deal.first_partition..deal.first_partition + deal.partitions {
        let number = partition.cast_unsigned();
        if number > 0 && number.is_multiple_of(count) {
            shift += 1;
        }
        let turn = Turn { first: (number + deal.start) % count, shift, replicas };
        placement.insert(partition, replicas_of(brokers, &turn));
    }
    placement
}

fn without_racks(brokers: &[Candidate], turn: &Turn) -> Vec<BrokerId> {
    let others = (0..turn.replicas - 1).map(|j| replica_index(turn.first, turn.shift, j, brokers));
    std::iter::once(turn.first).chain(others).map(|index| brokers[index as usize].id).collect()
}

fn with_racks(brokers: &[Candidate], turn: &Turn) -> Vec<BrokerId> {
    let racks: OrdSet<_> = brokers.iter().map(|broker| &broker.rack).collect();
    let shift = turn.shift * u32::try_from(racks.len()).expect("few racks");
    let mut chosen = vec![&brokers[turn.first as usize]];
    let mut tries = 0;
    while size_of_chosen(&chosen) < turn.replicas {
        let candidate = &brokers[replica_index(turn.first, shift, tries, brokers) as usize];
        let used: OrdSet<_> = chosen.iter().map(|broker| &broker.rack).collect();
        let rack_is_due = !used.contains(&candidate.rack) || used.len() == racks.len();
        if rack_is_due && !chosen.iter().any(|broker| broker.id == candidate.id) {
            chosen.push(candidate);
        }
        tries += 1;
    }
    chosen.into_iter().map(|broker| broker.id).collect()
}

fn replica_index(first: u32, shift: u32, j: u32, brokers: &[Candidate]) -> u32 {
    let count = size(brokers);
    (first + 1 + (shift + j) % (count - 1)) % count
}

fn size(brokers: &[Candidate]) -> u32 {
    u32::try_from(brokers.len()).expect("clusters are small")
}

fn size_of_chosen(chosen: &[&Candidate]) -> u32 {
    u32::try_from(chosen.len()).expect("replicas are few")
}

/// Brokers one rack after another, in turn: `r1:1 r2:2 r1:3`.
// Source: AdminUtils.getRackAlternatedBrokerList
fn alternated_by_rack(brokers: &[Candidate]) -> Vec<Candidate> {
    let mut racks: OrdMap<&Option<String>, OrdMap<BrokerId, &Candidate>> = OrdMap::new();
    for broker in brokers {
        racks.entry(&broker.rack).or_default().insert(broker.id, broker);
    }
    let mut alternated = Vec::new();
    while alternated.len() < brokers.len() {
        for rack in racks.values_mut() {
            alternated.extend(rack.pop_first().map(|(_, broker)| broker.clone()));
        }
    }
    alternated
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(numbers: &[i32]) -> Vec<BrokerId> {
        numbers.iter().copied().map(BrokerId).collect()
    }

    #[test]
    fn a_broker_lists_its_peers_by_hash() {
        let table: [(&[i32], &[i32]); 4] = [
            (&[3, 1, 2], &[1, 2, 3]),
            (&[1, 2, 3, 4], &[1, 4, 2, 3]),
            (&[1, 2, 3, 4, 5], &[5, 1, 4, 2, 3]),
            (&[0, 5], &[0, 5]),
        ];
        for (given, expected) in table {
            assert_eq!(in_cache_order(&ids(given)), ids(expected));
        }
    }

    #[test]
    fn what_cannot_be_placed_is_refused() {
        let one = [Candidate { id: BrokerId(1), rack: None }];
        let deal =
            Deal { partitions: 1, replication_factor: 2, start: 0, shift: 0, first_partition: 0 };
        let refused = PlacementError::TooFewBrokers { wanted: 2, available: 1 };
        assert_eq!(place(&one, deal), Err(refused));
        let alone = Deal { replication_factor: 1, ..deal };
        assert_eq!(place(&one, alone), Ok(OrdMap::from([(0, ids(&[1]))])));
        assert_eq!(place(&one, Deal { partitions: 0, ..deal }), Err(PlacementError::Nothing));
    }
}
