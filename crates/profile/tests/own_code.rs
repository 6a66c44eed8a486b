//! Profiles of one's own code.

use hprof_profile::*;

/// 5 samples in `HashMap.put`, called by `Shop.cart`; 3 in `Shop.price`, called by way of a stream; 2 in code of others.
const RUN: &str = "\
JAVA PROFILE 1.0.1, created Fri Nov 20 10:39:11 2026

Options:    cpu=samples,depth=3
--------
TRACE 1:
\tjava.util.HashMap.put(HashMap.java:7)
\tcom.acme.Shop.cart(Shop.java:9)
\tcom.acme.Shop.main(Shop.java:3)
TRACE 2:
\tcom.acme.Shop.price(Shop.java:5)
\tjava.util.stream.Stream.map(Stream.java:5)
\tcom.acme.Shop.all(Shop.java:9)
TRACE 3:
\tjava.lang.Object.wait(Object.java:5)
\tjava.lang.ref.Cleaner.run(Cleaner.java:5)
TRACE 4:
\tjava.lang.Thread.<unsampled>(Thread.java:Unknown line)
CPU SAMPLES BEGIN (total = 12) Fri Nov 20 10:39:12 2026
rank   self  accum   count trace method
   1 41.67% 41.67%       5     1 java.util.HashMap.put
   2 25.00% 66.67%       3     2 com.acme.Shop.price
   3 16.67% 83.33%       2     3 java.lang.Object.wait
   4  8.33% 91.67%       1     4 java.lang.Thread.<unsampled>
CPU SAMPLES END
";

fn own(prefixes: &str) -> Profile {
    let profile = load(RUN.as_bytes(), Wanted::Last)
        .expect("it is sound")
        .profile;
    let own = prefixes.parse::<OwnCode>().expect("any text will do");
    profile.of_own_code(&own)
}

fn rows(profile: &Profile) -> Vec<(String, u64, u64)> {
    let costs = costs(profile, Metric::Cpu, By::Method).into_iter();
    costs
        .map(|cost| (cost.name, cost.own, cost.total))
        .collect()
}

#[test]
fn other_code_is_charged_to_the_code_that_called_it() {
    let row = |name: &str, own, total| (name.to_owned(), own, total);
    let expected = [
        row("com.acme.Shop.cart", 5, 5),
        row("com.acme.Shop.price", 3, 3),
        row("<other code>", 2, 2),
        row("java.lang.Thread.<unsampled>", 1, 1),
        row("<not listed>", 1, 1),
        row("com.acme.Shop.main", 0, 5),
        row("com.acme.Shop.all", 0, 3),
    ];
    for prefixes in ["", "com.acme", "com.acme.Shop:org.other"] {
        let mut found = rows(&own(prefixes));
        let mut expected = expected.to_vec();
        found.sort();
        expected.sort();
        assert_eq!(found, expected, "{prefixes}");
    }
    let streams = rows(&own("java.util.stream"));
    assert_eq!(streams[0], row("<other code>", 7, 7));
    assert!(streams.contains(&row("java.util.stream.Stream.map", 3, 3)));
}

/// A cut stack stays known as one, and is marked with the frames that the file has.
#[test]
fn what_was_cut_stays_cut() {
    for profile in [own(""), own("").with_cut_marked()] {
        let remarks = profile.remarks(Metric::Cpu);
        let values: Vec<u64> = remarks.iter().map(|remark| remark.value).collect();
        assert_eq!(values, [3, 2, 1, 1], "{remarks:?}");
        assert!(remarks[0].text.starts_with("is in stacks cut at 3 frames"));
    }
    let marked = rows(&own("").with_cut_marked());
    assert!(marked.contains(&("[cut at 3 frames]".to_owned(), 0, 3)));
}
