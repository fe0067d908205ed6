//! Which addresses lie on the open internet, and networks an operator opens beside it.

use std::{
    fmt,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    str::FromStr,
};

use serde::{Deserialize, Serialize};

/// A block of addresses, such as `10.0.0.0/8`, `fd00::/8` or one address alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Network {
    first: IpAddr,
    bits: u8,
}

/// IPv4 blocks that are not on the open internet: the special-purpose registry of IANA, and
/// multicast.
const CLOSED_V4: [(Ipv4Addr, u8); 16] = [
    (Ipv4Addr::new(0, 0, 0, 0), 8),
    (Ipv4Addr::new(10, 0, 0, 0), 8),
    // Carrier-grade NAT; some clouds keep their metadata service here.
    (Ipv4Addr::new(100, 64, 0, 0), 10),
    (Ipv4Addr::new(127, 0, 0, 0), 8),
    // Link-local, with most clouds' metadata service.
    (Ipv4Addr::new(169, 254, 0, 0), 16),
    (Ipv4Addr::new(172, 16, 0, 0), 12),
    (Ipv4Addr::new(192, 0, 0, 0), 24),
    (Ipv4Addr::new(192, 0, 2, 0), 24),
    (Ipv4Addr::new(192, 31, 196, 0), 24),
    (Ipv4Addr::new(192, 52, 193, 0), 24),
    (Ipv4Addr::new(192, 88, 99, 0), 24),
    (Ipv4Addr::new(192, 168, 0, 0), 16),
    (Ipv4Addr::new(198, 18, 0, 0), 15),
    (Ipv4Addr::new(198, 51, 100, 0), 24),
    (Ipv4Addr::new(203, 0, 113, 0), 24),
    // Multicast, reserved and broadcast.
    (Ipv4Addr::new(224, 0, 0, 0), 3),
];

/// IPv6 blocks within the global ones that are not on the open internet. What lies outside of
/// `2000::/3` is closed altogether.
const CLOSED_V6: [(Ipv6Addr, u8); 3] = [
    // Protocol assignments, with Teredo and benchmarks.
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23),
    // Documentation.
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32),
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20),
];

/// Whether an address lies on the open internet.
pub(crate) fn is_public(address: IpAddr) -> bool {
    match plain(address) {
        IpAddr::V4(address) => !CLOSED_V4.iter().any(|(first, bits)| {
            within(address.to_bits().into(), first.to_bits().into(), 32, *bits)
        }),
        IpAddr::V6(address) => {
            let bits = address.to_bits();
            let global = within(
                bits,
                Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0).to_bits(),
                128,
                3,
            );
            let closed = CLOSED_V6
                .iter()
                .any(|(first, length)| within(bits, first.to_bits(), 128, *length));
            // A 6to4 or NAT64 address leads to the IPv4 address within it.
            let inner = inner_v4(address).is_none_or(|inner| is_public(inner.into()));
            (global && !closed || is_nat64(address)) && inner
        }
    }
}

/// The IPv4 address of a mapped IPv6 address.
pub(crate) fn plain(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V6(v6) => v6.to_ipv4_mapped().map_or(address, IpAddr::V4),
        IpAddr::V4(_) => address,
    }
}

fn is_nat64(address: Ipv6Addr) -> bool {
    let prefix = Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, 0, 0).to_bits();
    within(address.to_bits(), prefix, 128, 96)
}

fn inner_v4(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let bits = address.to_bits();
    if is_nat64(address) {
        Some(Ipv4Addr::from_bits(bits as u32))
    } else if address.segments()[0] == 0x2002 {
        Some(Ipv4Addr::from_bits((bits >> 80) as u32))
    } else {
        None
    }
}

/// Whether two addresses of `width` bits share their first `bits`.
const fn within(address: u128, first: u128, width: u8, bits: u8) -> bool {
    bits == 0 || (address ^ first) >> (width - bits) == 0
}

impl Network {
    pub(crate) fn contains(&self, address: IpAddr) -> bool {
        match (plain(address), self.first) {
            (IpAddr::V4(address), IpAddr::V4(first)) => within(
                address.to_bits().into(),
                first.to_bits().into(),
                32,
                self.bits,
            ),
            (IpAddr::V6(address), IpAddr::V6(first)) => {
                within(address.to_bits(), first.to_bits(), 128, self.bits)
            }
            _ => false,
        }
    }
}

impl FromStr for Network {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text:?} is no network such as \"10.0.0.0/8\" or \"127.0.0.1\"");
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address, Some(bits)),
            None => (text, None),
        };
        let first: IpAddr = address.parse().map_err(|_| wrong())?;
        let most = if first.is_ipv4() { 32 } else { 128 };
        let bits = match bits {
            Some(bits) => bits
                .parse()
                .ok()
                .filter(|bits| *bits <= most)
                .ok_or_else(wrong)?,
            None => most,
        };
        let value = match first {
            IpAddr::V4(first) => u128::from(first.to_bits()),
            IpAddr::V6(first) => first.to_bits(),
        };
        let rest = u32::from(most - bits);
        if rest > 0 && value.trailing_zeros() < rest {
            return Err(format!("{text:?} has bits set behind its first {bits}"));
        }
        Ok(Self { first, bits })
    }
}

impl TryFrom<String> for Network {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Network> for String {
    fn from(network: Network) -> Self {
        network.to_string()
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.first, self.bits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn what_is_not_on_the_open_internet_is_closed() {
        for text in [
            "0.0.0.0",
            "10.1.2.3",
            "100.64.0.1",
            "100.100.100.200",
            "127.0.0.1",
            "127.255.255.255",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.192",
            "192.168.1.1",
            "198.18.0.1",
            "203.0.113.1",
            "224.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "fe80::1",
            "fc00::1",
            "fd00:ec2::254",
            "ff02::1",
            "::ffff:127.0.0.1",
            "::ffff:169.254.169.254",
            "::127.0.0.1",
            "2001:db8::1",
            "2001::1",
            "2002:7f00:1::",
            "2002:a9fe:a9fe::1",
            "64:ff9b::7f00:1",
            "64:ff9b::a9fe:a9fe",
            "64:ff9b:1::1",
            "fec0::1",
        ] {
            assert!(!is_public(address(text)), "{text}");
        }
        for text in [
            "1.1.1.1",
            "8.8.8.8",
            "100.63.255.255",
            "100.128.0.1",
            "172.15.0.1",
            "172.32.0.1",
            "2606:4700::1111",
            "::ffff:8.8.8.8",
            "64:ff9b::808:808",
            "2002:808:808::1",
            "223.255.255.255",
        ] {
            assert!(is_public(address(text)), "{text}");
        }
    }

    #[test]
    fn a_network_is_its_addresses() {
        let network: Network = "10.0.0.0/8".parse().unwrap();
        assert!(network.contains(address("10.255.0.1")));
        assert!(network.contains(address("::ffff:10.0.0.1")));
        assert!(!network.contains(address("11.0.0.1")));
        assert!(!network.contains(address("fd00::1")));
        let one: Network = "127.0.0.1".parse().unwrap();
        assert!(one.contains(address("127.0.0.1")) && !one.contains(address("127.0.0.2")));
        let every: Network = "0.0.0.0/0".parse().unwrap();
        assert!(every.contains(address("255.1.1.1")) && !every.contains(address("::1")));
        let local: Network = "fd00::/8".parse().unwrap();
        assert!(local.contains(address("fdff::1")));
        for text in [
            "10.0.0.1/8",
            "10.0.0.0/33",
            "10.0.0/8",
            "",
            "a",
            "::1/200",
            "1.2.3.4/",
        ] {
            assert!(text.parse::<Network>().is_err(), "{text}");
        }
        assert_eq!(local.to_string(), "fd00::/8");
    }
}
