/**
 * Statements that answer requests. `$1` is the owner, except in `seqs`, `activity` and `spentRows`, which are
 * about several owners. A list of several owners is merged from one query for each of them.
 */
export const READER = {
  seqs: `select o.owner, o.seq from retinue.owners o where o.owner = any($1::text[])`,
  /** When each owner was last active, the latest first. */
  activity: `select o.owner, o.active_at from retinue.owners o where o.owner = any($1::text[]) order by o.active_at desc, o.owner`,

  /** From a position in the order on; `$4` excludes the position itself. */
  threads: `select t.thread, t.active_at from retinue.threads t
    where t.owner = $1 and t.present
      and (t.active_at, t.thread) <= ($2::timestamptz, $3::text)
      and not ($4::boolean and (t.active_at, t.thread) = ($2::timestamptz, $3::text))
      and ($5::timestamptz is null or t.active_at >= $5::timestamptz)
      and ($6::text is null or t.provider = $6::text)
      and ($7::text is null or t.project = $7::text)
      and ($8::text is null or t.status = $8::text)
      and ($9::text is null or t.cwd = $9::text or starts_with(t.cwd, $9::text || '/') or starts_with(t.cwd, $9::text || '\\'))
    order by t.active_at desc, t.thread desc limit $10`,
  threadRecords: `select a.uri, a.record from retinue.agents a
    where a.owner = $1 and a.uri = any($2::text[]) and a.thread = a.uri and a.present`,

  agentByUri: `select a.thread, a.uri, a.provider, a.session_id, a.agent_id from retinue.agents a
    where a.owner = $1 and a.uri = $2 and a.present order by a.revision desc`,
  /** Agents whose session id or own id begins with this. */
  agentsNamed: `select a.thread, a.uri, a.provider, a.session_id, a.agent_id from retinue.agents a
    where a.owner = $1 and lower(a.session_id) like $2 and a.present
    union select b.thread, b.uri, b.provider, b.session_id, b.agent_id from retinue.agents b
    where b.owner = $1 and lower(b.agent_id) like $2 and b.present`,
  agentsOfThread: `select a.uri, a.parent, a.place, a.record from retinue.agents a
    where a.owner = $1 and a.thread = $2 and a.present`,
  parentsOfThreads: `select a.thread, a.uri, a.parent from retinue.agents a
    where a.owner = $1 and a.thread = any($2::text[]) and a.present`,

  log: `select l.length, l.cut_seq from retinue.logs l where l.owner = $1 and l.thread = $2 and l.agent = $3`,
  eventsOfAgent: `select e.position, e.event from retinue.events e
    where e.owner = $1 and e.thread = $2 and e.agent = $3 and e.position >= $4 order by e.position limit $5`,
  lastCut: `select coalesce(max(l.cut_seq), 0) as seq from retinue.logs l
    where l.owner = $1 and l.thread = $2 and l.agent = any($3::text[])`,
  /** How many events of these agents there were at a shipment, and how many there are. */
  countEvents: `select count(*) filter (where e.seq <= $4::bigint) as before, count(*) as total from retinue.events e
    where e.owner = $1 and e.thread = $2 and e.agent = any($3::text[])`,
  /** `$7` has the place of each agent in the tree, for events of the same time. */
  history: `select e.event from retinue.events e
    where e.owner = $1 and e.thread = $2 and e.agent = any($3::text[]) and e.seq <= $4::bigint
    order by e.at nulls first, ($7::text::jsonb ->> e.agent)::integer, e.position offset $5 limit $6`,
  arrivals: `select e.event from retinue.events e
    where e.owner = $1 and e.thread = $2 and e.agent = any($3::text[]) and e.seq > $4::bigint
    order by e.seq, e.at nulls first, ($7::text::jsonb ->> e.agent)::integer, e.position offset $5 limit $6`,
  event: `select e.event from retinue.events e where e.owner = $1 and e.thread = $2 and e.agent = $3 and e.id = $4`,

  details: `select d.agent, d.value from retinue.details d
    where d.owner = $1 and d.thread = $2 and d.agent = any($3::text[]) and d.what = $4`,
  lists: `select l.agent, l.at, l.seq, l.items from retinue.lists l
    where l.owner = $1 and l.thread = $2 and l.agent = any($3::text[]) and l.what = $4 order by l.agent, l.at`,

  /** Of a common word, `$4` texts are compared, first those of the months from `$5` on. */
  search: `select f.thread, f.agent, f.position, f.size, f.at from (
      select * from (
        (select e.thread, e.agent, e.position, e.at, length(e.words) as size from retinue.events e
          where e.owner = $1 and e.words @@ $2::tsquery and e.bucket >= $5::date)
        union all
        (select o.thread, o.agent, o.position, o.at, length(o.words) as size from retinue.events o
          where o.owner = $1 and o.words @@ $2::tsquery and o.bucket < $5::date)) m
      limit $4) f
    order by f.size, f.at desc nulls last limit $3`,
  foundEvents: `select e.thread, e.agent, e.position, e.event from retinue.events e
    join unnest($2::text[], $3::text[], $4::integer[]) as d (thread, agent, position)
      on e.thread = d.thread and e.agent = d.agent and e.position = d.position
    where e.owner = $1`,
  /** The number of rows that `spent` has of each owner. */
  spentRows: `select o.owner, o.spent_rows as rows from retinue.owners o where o.owner = any($1::text[])`,
  /** From a day on, and before another one. */
  spent: `select s.row from retinue.spent s
    where s.owner = $1 and ($2::date is null or s.day >= $2::date) and ($3::date is null or s.day < $3::date)`,
  months: `select m.sums from retinue.months m where m.owner = $1
    and ($2::date is null or m.month >= $2::date) and ($3::date is null or m.month < $3::date)`,

  changedAgents: `select a.thread, a.uri, a.present, a.record from retinue.agents a
    where a.owner = $1 and a.seq > $2::bigint and a.seq <= $3::bigint order by a.seq limit $4`,
  changedEvents: `select e.thread, e.agent, e.event from retinue.events e
    where e.owner = $1 and e.seq > $2::bigint and e.seq <= $3::bigint
    order by e.seq, e.at nulls first, e.agent, e.position limit $4`,
  changedLists: `select distinct l.thread, l.agent from retinue.lists l
    where l.owner = $1 and l.seq > $2::bigint and l.seq <= $3::bigint and l.what = 'spans' limit $4`,
  cutLogs: `select l.thread, l.agent from retinue.logs l
    where l.owner = $1 and l.cut_seq > 0 and l.cut_seq > $2::bigint and l.cut_seq <= $3::bigint limit $4`,
} as const;
