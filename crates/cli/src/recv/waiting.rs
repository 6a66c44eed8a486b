//! Callers that have connected and not been identified yet. One of them makes room if there is none for another.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr, SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use super::callers::{self, Caller, Verdict};

/// The longest that a caller may take to be identified.
const SILENCE: Duration = Duration::from_secs(60);

/// The result of waiting for a caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Received {
    Agent,
    Stranger,
    /// It has sent nothing, or not enough.
    Silent,
}

/// The waiting callers.
#[derive(Default)]
pub struct Waiting {
    callers: Vec<(Caller, Instant)>,
}

impl Waiting {
    pub fn len(&self) -> usize {
        self.callers.len()
    }

    pub fn is_empty(&self) -> bool {
        self.callers.is_empty()
    }

    /// Returns their connections.
    pub fn streams(&self) -> impl Iterator<Item = &TcpStream> {
        self.callers.iter().map(|(caller, _)| &caller.stream)
    }

    pub fn add(&mut self, caller: Caller) {
        self.callers.push((caller, Instant::now()));
    }

    /// Reads from them; removes and returns those that need not wait any more.
    pub fn read_from_all(&mut self) -> Vec<(Caller, Received)> {
        let mut received = Vec::new();
        let mut index = 0;
        while let Some((caller, since)) = self.callers.get_mut(index) {
            let what = read_from(caller);
            if what == Received::Silent && since.elapsed() < SILENCE {
                index += 1;
            } else {
                received.push((self.callers.swap_remove(index).0, what));
            }
        }
        received
    }

    /// Removes a caller to make room for another: of the origin that most of them have, the one that has waited
    /// longest. So nobody can keep other origins out by silent connections.
    pub fn take_one(&mut self) -> Option<(Caller, Received)> {
        let mut counts: HashMap<IpAddr, usize> = HashMap::new();
        for (caller, _) in &self.callers {
            *counts.entry(origin(caller.address)).or_default() += 1;
        }
        let most = counts.values().copied().max()?;
        let of_most = self
            .callers
            .iter()
            .enumerate()
            .filter(|(_, (caller, _))| counts.get(&origin(caller.address)) == Some(&most));
        let (index, _) = of_most.min_by_key(|(_, (_, since))| *since)?;
        let (mut caller, _) = self.callers.swap_remove(index);
        // It may have sent enough just now.
        let received = read_from(&mut caller);
        Some((caller, received))
    }
}

fn read_from(caller: &mut Caller) -> Received {
    match callers::listen(caller) {
        Verdict::Agent => Received::Agent,
        Verdict::Stranger => Received::Stranger,
        Verdict::Open => Received::Silent,
    }
}

/// Returns the origin of a caller: its address, or for IPv6 its network, since the owner of one address there has 2^64.
pub fn origin(address: SocketAddr) -> IpAddr {
    match address.ip().to_canonical() {
        IpAddr::V6(address) => {
            let network = address.to_bits() & (u128::MAX << 64);
            Ipv6Addr::from_bits(network).into()
        }
        address => address,
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn an_origin_is_an_address_or_a_network() {
        for (address, expected) in [
            ("10.0.0.7:1", "10.0.0.7"),
            ("[::ffff:10.0.0.7]:1", "10.0.0.7"),
            ("[2001:db8:1:2:3:4:5:6]:1", "2001:db8:1:2::"),
        ] {
            let address = address.parse().expect("an address");
            assert_eq!(origin(address).to_string(), expected);
        }
    }

    #[test]
    fn the_first_of_the_many_makes_room() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("an address");
        let mut ends = Vec::new();
        let mut waiting = Waiting::default();
        for from in ["10.0.0.1:1", "10.0.0.2:1", "10.0.0.2:2", "10.0.0.2:3"] {
            ends.push(TcpStream::connect(address).expect("it listens"));
            let stream = listener.accept().expect("it came").0;
            stream.set_nonblocking(true).expect("a socket");
            waiting.add(Caller {
                stream,
                address: from.parse().expect("an address"),
                said: Vec::new(),
            });
        }
        for expected in ["10.0.0.2:1", "10.0.0.2:2", "10.0.0.1:1", "10.0.0.2:3"] {
            let (caller, received) = waiting.take_one().expect("there are more");
            assert_eq!(caller.address.to_string(), expected);
            assert_eq!(received, Received::Silent);
        }
        assert!(waiting.take_one().is_none());
    }
}
