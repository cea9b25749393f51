//! Checks that each step of a path begins where the previous one ends, that all branches lead to the same node, and
//! that no path loops without crossing a link.

use std::ops::ControlFlow;

use super::{Check, PlanError, ensure, node, refuse, unique_names, within};
use crate::{Plan, Step};

/// Where each path starts and ends.
pub(super) struct Paths {
    spans: Vec<Span>,
}

/// The ends of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Span {
    /// No step: it ends where it starts.
    Empty,
    /// From a node to a node.
    Between(u32, u32),
    /// Back to the queue of a fork, whose end it shares.
    Back(u32),
}

/// State of the search for the end of a path, fork or route switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Found {
    Nothing,
    /// Its parts are being visited.
    InProgress,
    End(u32),
}

/// Finds the ends.
struct Search<'a> {
    plan: &'a Plan,
    spans: Vec<Option<Span>>,
    forks: Vec<Found>,
    route_switches: Vec<Found>,
}

pub(super) fn check(plan: &Plan) -> Result<Paths, PlanError> {
    unique_names("route_switches", plan.route_switches.iter().map(|switch| &switch.name))?;
    let mut search = Search {
        plan,
        spans: vec![None; plan.paths.len()],
        forks: vec![Found::Nothing; plan.forks.len()],
        route_switches: vec![Found::Nothing; plan.route_switches.len()],
    };
    for fork in 0..plan.forks.len() as u32 {
        search.fork_end(fork)?;
    }
    for switch in 0..plan.route_switches.len() as u32 {
        search.route_switch_end(switch)?;
    }
    let spans: Vec<Span> = (0..plan.paths.len() as u32).map(|path| search.span(path)).collect::<Result<_, _>>()?;
    search.check_overflows(&spans)?;
    Ok(Paths { spans })
}

impl Paths {
    /// Checks a path of a flow from one host to another.
    pub(super) fn check_flow(
        &self,
        plan: &Plan,
        field: impl Fn() -> String,
        path: u32,
        (from, to): (u32, u32),
    ) -> Check {
        let value = |what: String| format!("path {path}, {what}");
        match self.spans[path as usize] {
            Span::Empty => refuse(field(), value("without a step".into()), "a path needs at least one step"),
            Span::Back(_) => refuse(field(), value("a return".into()), "only a packet from a full queue comes back"),
            Span::Between(start, _) if start != from => refuse(
                field(),
                value(format!("from {}", node(plan, start))),
                format!("it must start at {}", node(plan, from)),
            ),
            Span::Between(_, end) if end != to => {
                refuse(field(), value(format!("to {}", node(plan, end))), format!("it must lead to {}", node(plan, to)))
            }
            Span::Between(..) => Ok(()),
        }
    }
}

/// Whether the packet crosses a link on its path.
fn waits(steps: &[Step]) -> bool {
    steps.iter().any(|step| !matches!(step, Step::Marker(_)))
}

impl Search<'_> {
    /// Where a path starts and ends.
    fn span(&mut self, index: u32) -> Result<Span, PlanError> {
        if let Some(span) = self.spans[index as usize] {
            return Ok(span);
        }
        let plan = self.plan;
        let steps = &plan.paths[index as usize];
        let mut span = Span::Empty;
        for (i, &step) in steps.iter().enumerate() {
            let field = || format!("paths[{index}][{i}]");
            let ends_path = matches!(step, Step::Fork(_) | Step::Return(_) | Step::RouteSwitch(_));
            if ends_path && i + 1 < steps.len() {
                return refuse(field(), name(plan, step), "it must be the last step of a path: it says how to go on");
            }
            let (start, end) = match self.step(&field, step)? {
                ControlFlow::Continue(ends) => ends,
                ControlFlow::Break(fork) => {
                    // The place of the return does not matter: that wire is not modelled.
                    span = Span::Back(fork);
                    break;
                }
            };
            span = match span {
                Span::Empty => Span::Between(start, end),
                Span::Between(from, at) if at == start => Span::Between(from, end),
                Span::Between(_, at) => {
                    let problem = format!("it stands at {}, but the path is at {}", node(plan, start), node(plan, at));
                    return refuse(field(), name(plan, step), problem);
                }
                Span::Back(_) => unreachable!("a return ends a path"),
            };
        }
        self.spans[index as usize] = Some(span);
        Ok(span)
    }

    /// The node at which a step starts, and the node of the packet after it or at the end of its path; or the fork to
    /// which it returns.
    fn step(&mut self, field: &dyn Fn() -> String, step: Step) -> Result<ControlFlow<u32, (u32, u32)>, PlanError> {
        let plan = self.plan;
        Ok(ControlFlow::Continue(match step {
            Step::Queue(index) => {
                within(&field(), index, plan.queues.len(), "queues")?;
                let queue = &plan.queues[index as usize];
                let to = |link: u32| plan.links[link as usize].to;
                let end = to(queue.served_by[0]);
                if let Some(&other) = queue.served_by.iter().find(|&&link| to(link) != end) {
                    let problem = format!(
                        "its links lead to {} and to {}: a fork has to say how to go on behind each",
                        node(plan, end),
                        node(plan, to(other))
                    );
                    return refuse(field(), name(plan, step), problem);
                }
                (queue.node, end)
            }
            Step::Marker(index) => {
                within(&field(), index, plan.markers.len(), "markers")?;
                let node = plan.markers[index as usize].node;
                (node, node)
            }
            Step::Fork(index) => {
                within(&field(), index, plan.forks.len(), "forks")?;
                let end = self.fork_end(index)?;
                (plan.queues[plan.forks[index as usize].queue as usize].node, end)
            }
            Step::RouteSwitch(index) => {
                within(&field(), index, plan.route_switches.len(), "route switches")?;
                let end = self.route_switch_end(index)?;
                (plan.route_switches[index as usize].node, end)
            }
            Step::Return(index) => {
                within(&field(), index, plan.forks.len(), "forks")?;
                let queue = plan.forks[index as usize].queue;
                within(&format!("forks[{index}].queue"), queue, plan.queues.len(), "queues")?;
                let queue = &plan.queues[queue as usize];
                ensure(queue.returned_limit_packets.is_some(), &field(), name(plan, step), || {
                    format!("queue \"{}\" has no room for packets that come back", queue.name)
                })?;
                return Ok(ControlFlow::Break(index));
            }
        }))
    }

    /// The node to which all tails of a fork lead.
    fn fork_end(&mut self, index: u32) -> Result<u32, PlanError> {
        match self.forks[index as usize] {
            Found::End(end) => return Ok(end),
            Found::InProgress => {
                return refuse(
                    format!("forks[{index}].tails"),
                    format!("fork {index}"),
                    "the fork leads back to itself",
                );
            }
            Found::Nothing => self.forks[index as usize] = Found::InProgress,
        }
        let plan = self.plan;
        let fork = &plan.forks[index as usize];
        within(&format!("forks[{index}].queue"), fork.queue, plan.queues.len(), "queues")?;
        let served_by = &plan.queues[fork.queue as usize].served_by;
        let mut common = None;
        for (i, tail) in fork.tails.iter().enumerate() {
            let field = |name: &str| format!("forks[{index}].tails[{i}].{name}");
            let is_first = !fork.tails[..i].iter().any(|other| other.link == tail.link);
            ensure(served_by.contains(&tail.link) && is_first, &field("link"), tail.link, || {
                format!("each of the links {served_by:?} that serve the queue has one tail")
            })?;
            within(&field("path"), tail.path, plan.paths.len(), "paths")?;
            let start = plan.links[tail.link as usize].to;
            let end = self.end_from(&field("path"), tail.path, start)?;
            self.agree(&field("path"), &mut common, end, "tails")?;
        }
        ensure(
            fork.tails.len() == served_by.len(),
            &format!("forks[{index}].tails"),
            format!("a list of {}", fork.tails.len()),
            || format!("{} links serve the queue", served_by.len()),
        )?;
        let end = common.unwrap_or_default();
        self.forks[index as usize] = Found::End(end);
        Ok(end)
    }

    /// The node to which all alternatives of a route switch lead.
    fn route_switch_end(&mut self, index: u32) -> Result<u32, PlanError> {
        let field = |name: &str| format!("route_switches[{index}].{name}");
        match self.route_switches[index as usize] {
            Found::End(end) => return Ok(end),
            Found::InProgress => {
                let value = format!("route switch {index}");
                return refuse(field("alternatives"), value, "the route switch leads back to itself");
            }
            Found::Nothing => self.route_switches[index as usize] = Found::InProgress,
        }
        let plan = self.plan;
        let switch = &plan.route_switches[index as usize];
        within(&field("node"), switch.node, plan.nodes.len(), "nodes")?;
        ensure(!switch.alternatives.is_empty(), &field("alternatives"), "empty", || {
            "a route switch needs an alternative".into()
        })?;
        let count = switch.alternatives.len();
        within(&field("initial"), switch.initial, count, "alternatives in this route switch")?;
        let mut common = None;
        for (i, &path) in switch.alternatives.iter().enumerate() {
            let field = field(&format!("alternatives[{i}]"));
            within(&field, path, plan.paths.len(), "paths")?;
            ensure(waits(&plan.paths[path as usize]), &field, format!("path {path}"), || "it needs a queue".into())?;
            let end = self.end_from(&field, path, switch.node)?;
            self.agree(&field, &mut common, end, "alternatives")?;
        }
        let end = common.unwrap_or_default();
        self.route_switches[index as usize] = Found::End(end);
        Ok(end)
    }

    /// The end of a path that has to start at a node.
    fn end_from(&mut self, field: &str, path: u32, start: u32) -> Result<u32, PlanError> {
        match self.span(path)? {
            Span::Empty => Ok(start),
            Span::Between(from, end) if from == start => Ok(end),
            Span::Between(from, _) => {
                let value = format!("path {path}, from {}", node(self.plan, from));
                refuse(field, value, format!("it must start at {}", node(self.plan, start)))
            }
            Span::Back(_) => {
                refuse(field, format!("path {path}, a return"), "only a packet from a full queue comes back")
            }
        }
    }

    fn agree(&self, field: &str, common: &mut Option<u32>, end: u32, what: &str) -> Check {
        let expected = *common.get_or_insert(end);
        ensure(end == expected, field, format!("a path to {}", node(self.plan, end)), || {
            format!("the {what} before it lead to {}", node(self.plan, expected))
        })
    }

    /// Full queues forward packets at once: that must end in another queue, and lead to the same node.
    fn check_overflows(&self, spans: &[Span]) -> Check {
        let plan = self.plan;
        let end_of = |fork: u32| match self.forks[fork as usize] {
            Found::End(end) => end,
            found => unreachable!("the end of fork {fork} is {found:?}"),
        };
        for (i, fork) in (0u32..).zip(&plan.forks) {
            let Some(path) = fork.overflow else { continue };
            let field = format!("forks[{i}].overflow");
            within(&field, path, plan.paths.len(), "paths")?;
            let from = plan.queues[fork.queue as usize].node;
            let end = match spans[path as usize] {
                Span::Between(start, end) if start == from => end,
                Span::Back(to) => end_of(to),
                Span::Between(start, _) => {
                    let value = format!("path {path}, from {}", node(plan, start));
                    return refuse(field, value, format!("the queue stands at {}", node(plan, from)));
                }
                Span::Empty => {
                    return refuse(field, format!("path {path}, without a step"), "a packet has to wait somewhere");
                }
            };
            ensure(end == end_of(i), &field, format!("a path to {}", node(plan, end)), || {
                format!("the tails lead to {}", node(plan, end_of(i)))
            })?;
            let first = plan.paths[path as usize].iter().find(|step| !matches!(step, Step::Marker(_)));
            if !matches!(first, Some(Step::Queue(_) | Step::Fork(_) | Step::Return(_))) {
                return refuse(field, format!("path {path}"), "it must lead to a queue, a fork or a return at once");
            }
        }
        (0..plan.forks.len() as u32).try_for_each(|fork| self.check_circle(fork))
    }

    /// Follows a chain of full queues.
    fn check_circle(&self, start: u32) -> Check {
        let plan = self.plan;
        let mut at = start;
        for _ in 0..plan.forks.len() {
            let Some(path) = plan.forks[at as usize].overflow else { return Ok(()) };
            let first = plan.paths[path as usize].iter().find(|step| !matches!(step, Step::Marker(_)));
            match first {
                Some(&Step::Fork(next)) => at = next,
                _ => return Ok(()),
            }
        }
        refuse(
            format!("forks[{start}].overflow"),
            format!("fork {start}"),
            "full queues send packets round without end",
        )
    }
}

fn name(plan: &Plan, step: Step) -> String {
    let named = |what: &str, index: u32, name: Option<&String>| match name {
        Some(name) => format!("{what} {index} (\"{name}\")"),
        None => format!("{what} {index}"),
    };
    match step {
        Step::Queue(index) => named("queue", index, plan.queues.get(index as usize).map(|queue| &queue.name)),
        Step::Marker(index) => named("marker", index, plan.markers.get(index as usize).map(|marker| &marker.name)),
        Step::RouteSwitch(index) => {
            named("route switch", index, plan.route_switches.get(index as usize).map(|switch| &switch.name))
        }
        Step::Fork(index) => format!("fork {index}"),
        Step::Return(index) => format!("return to fork {index}"),
    }
}
