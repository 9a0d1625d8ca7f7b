/**
 * Statements of the team's pages. Each is about one owner (`$1`) and returns sums of that owner; the server adds those
 * of several owners.
 */
export const OVERVIEW = {
  running: `select r.agents, r.active_at, t.machine, m.shipped_at, a.record from (
      select g.thread, count(*) as agents, max(g.active_at) as active_at from retinue.agents g
      where g.owner = $1 and g.present and g.status = 'running' group by g.thread) r
    join retinue.threads t on t.owner = $1 and t.thread = r.thread
    join retinue.agents a on a.owner = $1 and a.thread = r.thread and a.uri = r.thread and a.present
    left join retinue.machines m on m.owner = $1 and m.machine = t.machine
    order by r.active_at desc nulls last limit $2`,
  /** `part` names the column of a line by its bit: the others are null. Sums are floats, which cannot overflow here. */
  costs: `select grouping(s.project, s.model, s.type, s.day) as part, s.project, s.model, s.type, s.day::text as day,
      coalesce(sum(s.cost_usd), 0) as cost, coalesce(sum(s.calls) filter (where s.cost_usd is null), 0)::float8 as unpriced,
      coalesce(sum(s.tokens), 0)::float8 as tokens, coalesce(sum(s.calls), 0)::float8 as calls, count(distinct s.thread) as threads
    from retinue.spent s where s.owner = $1 and ($2::date is null or s.day >= $2::date) and ($3::date is null or s.day < $3::date)
    group by grouping sets ((), (s.project), (s.model), (s.type), (s.day))`,
  month: `select s.project, coalesce(sum(s.cost_usd), 0) as cost from retinue.spent s
    where s.owner = $1 and s.day >= $2::date and s.day < $3::date group by s.project`,
  // An agent that could not be started has no activity, and perhaps no start.
  failed: `select f.thread, f.status, f.refused, coalesce(f.active_at, f.started_at, t.active_at) as active_at, t.machine, f.record
    from retinue.agents f join retinue.threads t on t.owner = $1 and t.thread = f.thread
    where f.owner = $1 and f.present and (f.status in ('errored', 'shutdown') or f.refused > 0)
      and ($2::timestamptz is null or coalesce(f.active_at, f.started_at, t.active_at) >= $2::timestamptz)
    order by 4 desc limit $3`,
  machines: `select m.machine, m.version, m.shipped_at from retinue.machines m where m.owner = $1 order by m.shipped_at desc, m.machine`,
} as const;
