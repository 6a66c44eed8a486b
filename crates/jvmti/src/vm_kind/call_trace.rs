//! In which VMs AsyncGetCallTrace can be called.

use super::VmKind;

impl VmKind {
    /// Returns `true` if this VM has none of the known faults by which AsyncGetCallTrace, or a question about the
    /// methods that it returns, ends the process: JDK-8265150, JDK-8268364, JDK-8283849, JDK-8285794, JDK-8313796,
    /// JDK-8313816, JDK-8315380, JDK-8329103, JDK-8339725, JDK-8352649. The last one mended is JDK-8339725, in 24 and the
    /// updates below; in 11, and in the versions that get no more updates, it is not.
    pub(in super::super) fn has_sound_call_trace(self) -> bool {
        let is_mended = match self.version {
            Some(17) => self.update >= Some(17),
            Some(21) => self.update >= Some(6),
            version => version >= Some(24),
        };
        is_mended && self.is_known()
    }
}

#[cfg(test)]
mod tests {
    use super::super::VmDescription;
    use super::super::tests::hotspot;

    #[test]
    fn asynchronous_call_traces_are_sound_in_late_updates_only() {
        let is_sound = |version, build: &str| {
            let build = build.to_owned();
            let vm = VmDescription {
                build,
                ..hotspot(version)
            };
            vm.kind().has_sound_call_trace()
        };
        for (version, build) in [
            (11, "11.0.5+10-LTS"),
            (11, "11.0.28+6"),
            (17, "17+35"),
            (17, "17.0.16+8"),
            (21, "21.0.5+11-LTS"),
            (22, "22.0.2+9"),
            (23, "23.0.2+7"),
            (29, "29+35"),
            (17, ""),
            (17, "17.0.x"),
        ] {
            assert!(!is_sound(version, build), "{build}");
        }
        for (version, build) in [
            (17, "17.0.17+10-Debian-1deb12u1"),
            (17, "17.0.18.1+1"),
            (21, "21.0.6+7-LTS-188"),
            (24, "24+36"),
            (25, "25.0.2+10-LTS"),
            (26, "26+35"),
        ] {
            assert!(is_sound(version, build), "{build}");
        }
    }
}
