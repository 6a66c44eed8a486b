//! Chooses the sampling method.

use std::fmt;

use jvmti::{CpuTimerSupport, CpuTimers, Env, NoCpuTimers};
use options::{Clock, Cpu, Options, SamplingChoice};

/// The method of taking samples.
#[derive(Clone)]
pub enum SamplingMethod {
    /// By timers on the threads' CPU clocks.
    Async(CpuTimerSupport),
    /// With JVMTI alone, and the reason, unless the user chose it.
    Jvmti(Option<NoCpuTimers>),
}

/// The user chose a method that is not available.
#[derive(Debug, thiserror::Error)]
pub enum SamplingMethodRefused {
    /// That of `engine=async`.
    #[error("option engine=async: {0}; must be auto or jvmti here")]
    Engine(NoCpuTimers),
    /// That of `clock=samples`.
    #[error("option clock=samples: {0}; must be cpu or wall here")]
    Clock(NoCpuTimers),
}

impl SamplingMethod {
    /// Chooses by `clock=samples|auto`, by `engine=` and by the abilities of the VM and the system; `None` if the options request no samples.
    pub fn choose(env: Env, options: &Options) -> Result<Option<Self>, SamplingMethodRefused> {
        match options.clock {
            Clock::Samples if options.cpu == Some(Cpu::Times) => {
                let support = CpuTimerSupport::find(env).map_err(SamplingMethodRefused::Clock)?;
                return Ok(Some(Self::Async(support)));
            }
            Clock::Auto if options.cpu == Some(Cpu::Times) => {
                // The agent's own walk measures what counting costs.
                let keeps_budget = options.budget.is_none() || CpuTimers::may_walk(env);
                let support = CpuTimerSupport::find(env).ok();
                let support = support.filter(|_| CpuTimers::CHARGES_CONTEXTS && keeps_budget);
                return Ok(support.map(Self::Async));
            }
            _ => {}
        }
        if options.cpu != Some(Cpu::Samples) {
            return Ok(None);
        }
        if options.engine == SamplingChoice::Jvmti {
            return Ok(Some(Self::Jvmti(None)));
        }
        match CpuTimerSupport::find(env) {
            Ok(support) => Ok(Some(Self::Async(support))),
            Err(reason) if options.engine == SamplingChoice::Async => {
                Err(SamplingMethodRefused::Engine(reason))
            }
            Err(reason) => Ok(Some(Self::Jvmti(Some(reason)))),
        }
    }
}

/// `engine=async`, and what the user should know about it.
impl fmt::Display for SamplingMethod {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Async(_) => out.write_str("engine=async"),
            Self::Jvmti(None) => out.write_str("engine=jvmti, safepoint-biased"),
            Self::Jvmti(Some(reason)) => {
                write!(out, "engine=jvmti, safepoint-biased (no async: {reason})")
            }
        }
    }
}
