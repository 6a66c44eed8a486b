//! A profile's remarks on a file or stacks that were cut, and about rows without a stack.

use hprof_format::{BinaryEncoder, ControlSettingsRecord, Encoder, Micros, Millis, Record};
use hprof_profile::*;
use hprof_testing::sound_profile;

/// Made with `depth=2`: 40 samples in stacks that were cut, 30 in one that ends where a thread begins, 20 in a shorter
/// one, 6 without a stack, 4 that are not listed. Two objects were there before the profile began.
const RUN: &str = "\
JAVA PROFILE 1.0.1, created Fri Nov 20 10:39:11 2026

Options:    cpu=samples,depth=8,heap=sites,depth=2,file=a,b.txt
--------
TRACE 1:
\tp.A.go(A.java:7)
\tp.A.run(A.java:9)
TRACE 2:
\tp.B.go(B.java:7)
\tp.A.run(A.java:9)
TRACE 3:
\tp.A.go(A.java:7)
\tjava.lang.Thread.run(Thread.java:840)
TRACE 4:
\tp.A.go(A.java:7)
TRACE 5:
\tjava.lang.Thread.<unsampled>(Thread.java:Unknown line)
TRACE 6:
\t<empty>
CPU SAMPLES BEGIN (total = 100) Fri Nov 20 10:39:12 2026
rank   self  accum   count trace method
   1 30.00% 30.00%      30     1 p.A.go
   2 30.00% 60.00%      30     3 p.A.go
   3 20.00% 80.00%      20     4 p.A.go
   4 10.00% 90.00%      10     2 p.B.go
   5  6.00% 96.00%       6     5 java.lang.Thread.<unsampled>
CPU SAMPLES END
SITES BEGIN (ordered by live bytes) Fri Nov 20 10:39:13 2026
          percent          live          alloc'ed  stack class
 rank   self  accum     bytes objs     bytes  objs trace name
    1 75.00% 75.00%        48    2        48     2     6 D
    2 25.00% 100.00%       16    1        16     1     1 D
SITES END
";

/// Returns the part and the first words of each remark.
fn remarks(profile: &Profile, metric: Metric) -> Vec<(u64, String)> {
    let remarks = profile.remarks(metric).into_iter();
    let remarks = remarks.map(|remark| {
        let end = remark.text.find(':').unwrap_or(remark.text.len());
        (remark.value, remark.text[..end].to_owned())
    });
    remarks.collect()
}

fn said(said: &[(u64, &str)]) -> Vec<(u64, String)> {
    let said = said.iter().map(|&(value, text)| (value, text.to_owned()));
    said.collect()
}

#[test]
fn a_profile_says_which_part_was_cut_and_which_has_no_stack() {
    let run = sound_profile(RUN.as_bytes());
    assert_eq!(run.depths, [2]);
    let expected = said(&[
        (40, "is in stacks cut at 2 frames"),
        (6, "is <unsampled>"),
        (4, "is <not listed>"),
    ]);
    assert_eq!(remarks(&run, Metric::Cpu), expected);
    let expected = said(&[
        (16, "is in stacks cut at 2 frames"),
        (48, "is <made before the profile>"),
    ]);
    assert_eq!(remarks(&run, Metric::LiveBytes), expected);
    let folded = RUN.replace("java.lang.Thread.run(", "java.lang.Thread.<folded>(");
    let folded = remarks(&sound_profile(folded.as_bytes()), Metric::Cpu);
    assert_eq!(folded[1], (30, "is <folded>".to_owned()));
    let costs = costs(&run, Metric::LiveBytes, By::Trace);
    assert_eq!(costs[0].name, "<made before the profile>");
}

#[test]
fn a_file_that_does_not_tell_its_depth_is_not_said_to_be_cut() {
    let start = RUN.find("Options").expect("it is there");
    let end = RUN.find("--------").expect("it is there");
    let unknown = [&RUN[..start], &RUN[end..]].concat();
    let unknown = sound_profile(unknown.as_bytes());
    assert!(unknown.depths.is_empty());
    let expected = said(&[(6, "is <unsampled>"), (4, "is <not listed>")]);
    assert_eq!(remarks(&unknown, Metric::Cpu), expected);
    let by_default = RUN.replace("depth=8,", "").replace("depth=2,", "");
    assert_eq!(sound_profile(by_default.as_bytes()).depths, [4]);
}

#[test]
fn cut_stacks_are_below_one_node() {
    let marked = sound_profile(RUN.as_bytes()).with_cut_marked();
    let tree = Tree::new(&marked, Metric::Cpu, By::Method, Direction::Callees, None);
    let children = |node: &Node| {
        let children = node.children.iter().map(|&child| {
            let child = &tree.nodes[child as usize];
            (child.total, tree.name(child).to_owned())
        });
        children.collect::<Vec<_>>()
    };
    let expected = [
        (40, "[cut at 2 frames]"),
        (30, "java.lang.Thread.run"),
        (20, "p.A.go"),
        (6, "java.lang.Thread.<unsampled>"),
        (4, "<not listed>"),
    ];
    assert_eq!(children(&tree.nodes[0]), said(&expected));
    let cut = tree.nodes[0].children[0] as usize;
    assert_eq!(children(&tree.nodes[cut]), said(&[(40, "p.A.run")]));
    assert_eq!(marked.total(Metric::Cpu), 100);
}

/// A sum of runs keeps the limits of all of them, in both forms.
#[test]
fn a_sum_says_what_was_cut() {
    let other = RUN.replace("depth=2", "depth=1");
    let sites = RUN.find("SITES BEGIN").expect("it is there");
    for (texts, depths) in [
        (vec![RUN, RUN], vec![2]),
        (vec![RUN, other.as_str()], vec![1, 2]),
        (vec![&RUN[..sites], &other[..sites]], vec![1, 2]),
    ] {
        let mut merger = Merger::default();
        for text in texts {
            merger
                .add(&sound_profile(text.as_bytes()), &Added::default())
                .expect("one interval");
        }
        let sum = merger.finish();
        assert_eq!(sum.depths, depths);
        let mut file = Vec::new();
        write(&sum, &mut file).expect("memory takes it");
        let again = sound_profile(&file);
        assert_eq!((again.depths, again.notes), (depths, sum.notes));
    }
    let mut text = RUN.replace("depth=2", "depth=1");
    text.push_str(
        "CPU TIME (ms) BEGIN (total = 40) Fri Nov 20 10:39:13 2026\n\
         rank   self  accum   count trace method\n   1 100.00% 100.00%       4 4 p.A.go\nCPU TIME (ms) END\n",
    );
    let mut file = Vec::new();
    let form = write(&sound_profile(text.as_bytes()), &mut file).expect("memory takes it");
    assert_eq!((form, sound_profile(&file).depths), (Form::Text, vec![1]));
}

#[test]
fn a_binary_file_tells_its_depth() {
    let mut file = Vec::new();
    let mut encoder = BinaryEncoder::new();
    encoder.start(Millis(0), &mut file);
    let settings = Record::ControlSettings(ControlSettingsRecord { flags: 0, depth: 7 });
    encoder.record(Micros(0), &settings, &mut file);
    assert_eq!(sound_profile(&file).depths, [7]);
}

#[test]
fn a_file_that_is_cut_off_shows_what_was_before() {
    let mut file = Vec::new();
    write(&sound_profile(RUN.as_bytes()), &mut file).expect("memory takes it");
    file.pop();
    let loaded = load(file.as_slice(), Wanted::Last).expect("its start is there");
    assert!(matches!(loaded.fault, Some(LoadError::Binary(_))));
    assert_eq!(loaded.profile.total(Metric::Cpu), 100);
}
