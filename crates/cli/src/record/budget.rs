//! The share of the CPU time that counting allocations or calls may cost.

use std::str::FromStr;

use super::what::What;

/// The agent's option for running programs, unless the user says otherwise: one may be used by many people.
pub const BUDGET: &str = "budget=20%";

/// A share of the process's CPU time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Budget {
    /// So many percent, from 1 to 100.
    Percent(u8),
    /// Any.
    Unbounded,
}

/// The program whose cost is bounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bounded {
    /// One that this command starts.
    Started,
    /// One that runs already.
    Running,
}

/// The choice of a budget.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub struct BudgetArgument {
    /// The share of the CPU time that counting allocations or calls may cost, such as 20%; beyond it they are estimated or left out.
    /// `none` for any [default: 20% in a running program, none in a new one]
    #[arg(long, value_name = "PERCENT")]
    pub budget: Option<Budget>,
}

impl FromStr for Budget {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "none" {
            return Ok(Self::Unbounded);
        }
        let percent = text
            .strip_suffix('%')
            .and_then(|percent| percent.parse().ok());
        let percent = percent.filter(|percent| (1..=100).contains(percent));
        let percent = percent.ok_or("expected a share from 1% to 100%, such as 20%, or none")?;
        Ok(Self::Percent(percent))
    }
}

impl BudgetArgument {
    /// Returns the agent's options for a measurement, with the budget if it counts allocations or calls.
    ///
    /// # Errors
    /// A message, if the user asked for a budget where nothing is counted, or where the options are given as they are.
    pub fn added_to(self, what: &What, program: Bounded) -> Result<String, String> {
        let options = what.options();
        Ok(match (what.is_counted(), self.budget) {
            (false, Some(_)) => {
                let name = what.name();
                return Err(format!(
                    "--budget: allocations and calls are counted and have a budget, by alloc, heap and calls, not by {name}"
                ));
            }
            (true, Some(Budget::Percent(percent))) => format!("{options},budget={percent}%"),
            (true, None) if program == Bounded::Running => format!("{options},{BUDGET}"),
            (_, Some(Budget::Unbounded) | None) => options,
        })
    }

    /// Returns what a new program is going to cost more, if that is much and nobody has chosen it: `--budget` bounds it.
    pub fn expected_cost(self, what: &What) -> Option<&'static str> {
        match (self.budget, what) {
            (None, What::Alloc) => Some(
                "every allocation is counted: compilers take 3 to 4 times as long, a program that only makes small objects up to 17 times; --budget 20% \
                 bounds that",
            ),
            (None, What::Calls) => Some(
                "every call is counted: compilers take 3 to 4 times as long; --budget 20% bounds that",
            ),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(what: &str, budget: Option<&str>, program: Bounded) -> Result<String, String> {
        let what = What::parse(what).expect("a measurement");
        let budget = budget.map(|budget| budget.parse().expect(budget));
        BudgetArgument { budget }.added_to(&what, program)
    }

    #[test]
    fn a_running_program_has_a_budget_unless_the_options_are_given() {
        for (what, has_budget) in [
            ("cpu", false),
            ("alloc", true),
            ("heap", true),
            ("calls", true),
            ("heap=sites", false),
        ] {
            let options = options(what, None, Bounded::Running).expect(what);
            assert_eq!(options.ends_with(",budget=20%"), has_budget, "{options}");
        }
        let started = options("alloc", None, Bounded::Started).expect("options");
        assert!(!started.contains("budget"), "{started}");
    }

    #[test]
    fn who_has_chosen_no_budget_is_told_what_it_costs() {
        let told = |what: &str, budget: Option<&str>| {
            let budget = budget.map(|budget| budget.parse().expect(budget));
            let what = What::parse(what).expect("a measurement");
            BudgetArgument { budget }.expected_cost(&what).is_some()
        };
        assert!(told("alloc", None) && told("calls", None));
        assert!(!told("cpu", None) && !told("heap=sites", None));
        assert!(!told("alloc", Some("none")) && !told("calls", Some("20%")));
    }

    #[test]
    fn the_user_chooses_the_budget() {
        for program in [Bounded::Started, Bounded::Running] {
            let of = |what, budget| options(what, Some(budget), program);
            let some = of("alloc", "5%").expect("options");
            assert!(some.ends_with(",budget=5%"), "{some}");
            let none = of("calls", "none").expect("options");
            assert!(!none.contains("budget"), "{none}");
            let refused = of("wall", "5%").expect_err("nothing is counted");
            assert!(refused.ends_with("not by wall"), "{refused}");
        }
        for wrong in ["", "20", "0%", "101%", "x%", "-1%"] {
            assert!(wrong.parse::<Budget>().is_err(), "{wrong}");
        }
    }
}
