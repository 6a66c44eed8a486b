//! Threads that have nothing to do: they wait for work, as the VM's own do and those of a pool.

use crate::metric::Metric;
use crate::model::{Frame, FrameId, Profile, StackId, Table};
use crate::number::number;

/// The methods in which a thread waits for work. `docs/reference/wall-samples.md` lists them; a test compares the two.
pub const WAITS_FOR_WORK: [&str; 18] = [
    "io.netty.channel.epoll.EpollEventLoop.epollWait",
    "io.netty.channel.nio.NioEventLoop.select",
    "io.netty.util.concurrent.SingleThreadEventExecutor.takeTask",
    "java.lang.ref.Finalizer$FinalizerThread.run",
    "java.lang.ref.Reference.waitForReferencePendingList",
    "java.util.TimerThread.mainLoop",
    "java.util.concurrent.DelayScheduler.loop",
    "java.util.concurrent.ForkJoinPool.awaitWork",
    "java.util.concurrent.ThreadPoolExecutor.getTask",
    "jdk.internal.ref.CleanerImpl.run",
    "org.apache.tomcat.util.net.Acceptor.run",
    "org.apache.tomcat.util.net.NioEndpoint$Poller.run",
    "org.apache.tomcat.util.threads.ThreadPoolExecutor.getTask",
    "org.eclipse.jetty.io.ManagedSelector.nioSelect",
    "org.eclipse.jetty.io.ManagedSelector.select",
    "org.eclipse.jetty.server.ServerConnector.accept",
    "org.eclipse.jetty.util.thread.QueuedThreadPool.idleJobPoll",
    "sun.nio.ch.EPollPort$EventHandlerTask.poll",
];

/// The frames that stand for the state of a thread.
const STATES: [&str; 9] = [
    "<blocked>",
    "<native>",
    "<parked>",
    PINNED,
    "<runnable>",
    "<running>",
    "<sleeping>",
    "<vm>",
    "<waiting>",
];
/// The frame below the state of a virtual thread that waits without releasing its carrier.
const PINNED: &str = "<pinned>";
/// The states in which a thread has something to do.
const AT_WORK: [&str; 2] = ["<running>", "<runnable>"];

impl Profile {
    /// Removes the elapsed time of threads that waited for work; returns how much it was, of each value.
    pub fn remove_idle(&mut self) -> Vec<(Metric, u64)> {
        let waits_for_work: Vec<bool> = self
            .frame_ids()
            .map(|frame| WAITS_FOR_WORK.contains(&&*self.method(frame)))
            .collect();
        let is_idle: Vec<bool> = (0..number(self.stacks.len()))
            .map(|stack| self.is_idle(StackId(stack), &waits_for_work))
            .collect();
        let mut tables = std::mem::take(&mut self.tables);
        let of_time = tables
            .iter_mut()
            .filter(|table| table.metrics().contains(&Metric::Wall));
        let removed = of_time.flat_map(|table| table.retain(|stack, _| !is_idle[stack.0 as usize]));
        let idle = removed.collect();
        self.tables = tables;
        let timelines = self.timelines.iter_mut();
        for timeline in timelines.filter(|timeline| timeline.metric == Metric::Wall) {
            timeline.retain(|stack, _| !is_idle[stack.0 as usize]);
        }
        idle
    }

    /// Adds to elapsed time the parts of it in which threads were blocked, parked and pinned, each as a value of its own.
    pub(crate) fn split_waits(&mut self) {
        const VALUES: [Metric; 4] = [
            Metric::Wall,
            Metric::Blocked,
            Metric::Parked,
            Metric::Pinned,
        ];
        let mut tables = std::mem::take(&mut self.tables);
        let of_time = tables
            .iter_mut()
            .filter(|table| table.metrics() == [Metric::Wall]);
        for table in of_time {
            let mut apart = Table::new(&VALUES);
            for (stack, labels, values) in table.rows() {
                let state = self.state(stack);
                let part = |is_in_it: bool| if is_in_it { values[0] } else { 0 };
                let values = [
                    values[0],
                    part(state == Some("<blocked>")),
                    part(state == Some("<parked>")),
                    part(self.is_pinned(stack)),
                ];
                apart.push(stack, labels, &values);
            }
            *table = apart;
        }
        self.tables = tables;
    }

    /// Returns the state in which a thread had this stack, if the stack shows it.
    pub(crate) fn state(&self, stack: StackId) -> Option<&str> {
        let &innermost = self.stacks.frames(stack).first()?;
        let frame = self.frame(innermost);
        self.is_state(frame).then(|| self.names.text(frame.method))
    }

    fn is_pinned(&self, stack: StackId) -> bool {
        let frame = self.stacks.frames(stack).get(1);
        frame.is_some_and(|&frame| {
            let frame = self.frame(frame);
            self.is_stand_in(frame) && self.names.text(frame.method) == PINNED
        })
    }

    /// Returns `true` for the frame that stands for the state of a thread.
    pub(crate) fn is_state(&self, frame: &Frame) -> bool {
        self.is_stand_in(frame) && STATES.contains(&self.names.text(frame.method))
    }

    /// Returns `true` for the stack of a thread that waits for work, or that waits and runs no Java: the VM's own.
    fn is_idle(&self, stack: StackId, waits_for_work: &[bool]) -> bool {
        let frames = self.stacks.frames(stack);
        let Some((&state, outer)) = frames.split_first() else {
            return false;
        };
        let state = self.frame(state);
        let is_at_work = AT_WORK.contains(&self.names.text(state.method));
        let waits = |frame: &FrameId| waits_for_work[frame.0 as usize];
        self.is_state(state) && !is_at_work && (outer.is_empty() || outer.iter().any(waits))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_lists_the_places() {
        assert!(WAITS_FOR_WORK.is_sorted());
        let path = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../docs/reference/wall-samples.md"
        );
        let page = std::fs::read_to_string(path).expect("the page");
        for place in WAITS_FOR_WORK {
            assert!(page.contains(&format!("- `{place}`\n")), "{place}");
        }
    }
}
