/** What is left of an agent that was removed: its key, so that older documents about it stay void, and nothing else. */
export const TOMBSTONE = `present = false, record = '', parent = null, place = 0, provider = '', session_id = '', agent_id = null,
      type = null, project = null, cwd = null, status = '', refused = 0, started_at = null, active_at = null`;

/** Statements that store shipments. `$1` is the owner in all of them. */
export const INGEST = {
  /** Locks the owner until the end of the transaction: its shipments are stored one after another. */
  nextShipment: `insert into retinue.owners as o (owner, seq, shipped_at) values ($1, 1, now())
    on conflict (owner) do update set seq = o.seq + 1, shipped_at = excluded.shipped_at returning seq, ahead`,
  setAhead: `update retinue.owners o set ahead = $2::bigint where o.owner = $1`,
  machine: `insert into retinue.machines as m (owner, machine, version, shipped_at, shipments) values ($1, $2, $3, now(), 1)
    on conflict (owner, machine) do update set version = excluded.version, shipped_at = excluded.shipped_at,
      shipments = m.shipments + 1
    returning shipments`,

  /** Threads that the machine is asked to send as a whole. */
  wanted: `select c.thread from retinue.copies c where c.owner = $1 and c.machine = $2 and c.wanted order by c.thread limit $3`,
  noteCopies: `insert into retinue.copies (owner, thread, machine, wanted)
    select $1, d.thread, d.machine, d.wanted = 'true' from unnest($2::text[], $3::text[], $4::text[]) as d (thread, machine, wanted)
    on conflict (owner, thread, machine) do update set wanted = excluded.wanted`,
  dropCopies: `delete from retinue.copies c where c.owner = $1 and c.machine = $2 and c.thread = any($3::text[])`,
  wantCopies: `update retinue.copies c set wanted = true where c.owner = $1 and c.thread = any($2::text[])`,
  rootRecords: `select a.thread, a.record from retinue.agents a
    where a.owner = $1 and a.thread = any($2::text[]) and a.uri = a.thread and a.present`,
  /** Everything that another machine sent is void, whatever its revision: revisions of two machines cannot be compared. */
  replaceAgents: `update retinue.agents a set ${TOMBSTONE}, revision = $3::bigint - 1, seq = $4
    where a.owner = $1 and a.thread = $2`,
  replaceLogs: `update retinue.logs l set length = 0, cuts = '[]', cut_seq = $3 where l.owner = $1 and l.thread = $2`,
  setFloor: `update retinue.threads t set floor = $3::bigint where t.owner = $1 and t.thread = $2`,

  floors: `select t.thread, t.floor, t.machine from retinue.threads t where t.owner = $1 and t.thread = any($2::text[])`,
  newestRevision: `select coalesce(max(a.revision), 0) as revision from retinue.agents a where a.owner = $1 and a.thread = any($2::text[])`,
  raiseFloors: `insert into retinue.threads as t (owner, thread, floor, seq)
    select $1, d.thread, d.floor, $2 from unnest($3::text[], $4::bigint[]) as d (thread, floor)
    on conflict (owner, thread) do update set floor = greatest(t.floor, excluded.floor), seq = excluded.seq`,
  logs: `select l.thread, l.agent, l.length, l.cuts, l.cut_seq from retinue.logs l
    join unnest($2::text[], $3::text[]) as d (thread, agent) on l.thread = d.thread and l.agent = d.agent
    where l.owner = $1`,
  saveLogs: `insert into retinue.logs as l (owner, thread, agent, length, cuts, cut_seq)
    select $1, d.thread, d.agent, d.length, d.cuts, d.cut_seq
    from unnest($2::text[], $3::text[], $4::integer[], $5::text[], $6::bigint[]) as d (thread, agent, length, cuts, cut_seq)
    on conflict (owner, thread, agent) do update set length = excluded.length, cuts = excluded.cuts, cut_seq = excluded.cut_seq`,

  agents: `insert into retinue.agents as a
      (owner, thread, uri, parent, place, revision, seq, present, provider, session_id, agent_id, type, project, cwd, status, refused, started_at, active_at, record)
    select $1, d.thread, d.uri, d.parent, d.place, d.revision, $2, d.record <> '', d.provider, d.session_id, d.agent_id, d.type, d.project, d.cwd, d.status, d.refused, d.started_at, d.active_at, d.record
    from unnest($3::text[], $4::text[], $5::text[], $6::integer[], $7::bigint[], $8::text[], $9::text[], $10::text[], $11::text[], $12::text[], $13::text[], $14::text[], $15::integer[], $16::timestamptz[], $17::timestamptz[], $18::text[])
      as d (thread, uri, parent, place, revision, provider, session_id, agent_id, type, project, cwd, status, refused, started_at, active_at, record)
    on conflict (owner, thread, uri) do update set
      parent = excluded.parent, place = excluded.place, revision = excluded.revision, seq = excluded.seq, present = excluded.present,
      provider = excluded.provider, session_id = excluded.session_id, agent_id = excluded.agent_id, type = excluded.type,
      project = excluded.project, cwd = excluded.cwd, status = excluded.status, refused = excluded.refused,
      started_at = excluded.started_at, active_at = excluded.active_at, record = excluded.record
    where a.revision < excluded.revision
    returning thread, uri`,
  /** Sums up the threads whose agents changed. */
  threads: `insert into retinue.threads as t (owner, thread, seq, machine, present, active_at, provider, project, cwd, status)
    select $1, d.thread, $2, d.machine, r.uri is not null,
      coalesce((select max(a.active_at) from retinue.agents a where a.owner = $1 and a.thread = d.thread and a.present), 'epoch'),
      r.provider, r.project, r.cwd, r.status
    from unnest($3::text[], $4::text[]) as d (thread, machine)
    left join retinue.agents r on r.owner = $1 and r.thread = d.thread and r.uri = d.thread and r.present
    on conflict (owner, thread) do update set seq = excluded.seq, machine = excluded.machine, present = excluded.present, active_at = excluded.active_at,
      provider = excluded.provider, project = excluded.project, cwd = excluded.cwd, status = excluded.status`,

  ownerActive: `update retinue.owners o set active_at = greatest(o.active_at,
      (select max(t.active_at) from retinue.threads t where t.owner = $1 and t.thread = any($2::text[])))
    where o.owner = $1`,

  /** Tombstones: an agent of a removed thread comes back with a revision that is not lower. */
  removeAgentsOfThread: `update retinue.agents a set ${TOMBSTONE}, revision = $3::bigint - 1, seq = $4
    where a.owner = $1 and a.thread = $2 and a.revision < $3::bigint`,
  removeEventsOfThread: `delete from retinue.events e where e.owner = $1 and e.thread = $2 and e.revision < $3::bigint`,
  removeListsOfThread: `delete from retinue.lists l where l.owner = $1 and l.thread = $2 and l.revision < $3::bigint`,
  removeDetailsOfThread: `delete from retinue.details d where d.owner = $1 and d.thread = $2 and d.revision < $3::bigint`,
  removeSpentOfThread: `delete from retinue.spent s where s.owner = $1 and s.thread = $2 and s.revision < $3::bigint`,
  shortenLogs: `update retinue.logs l set length = coalesce(
      (select max(e.position) + 1 from retinue.events e where e.owner = $1 and e.thread = $2 and e.agent = l.agent), 0)
    where l.owner = $1 and l.thread = $2`,

  removeEventsFrom: `delete from retinue.events e
    where e.owner = $1 and e.thread = $2 and e.agent = $3 and e.position >= $4 and e.revision < $5::bigint`,
  removeListsOfAgent: `delete from retinue.lists l where l.owner = $1 and l.thread = $2 and l.agent = $3 and l.revision < $4::bigint`,
  removeDetailsOfAgent: `delete from retinue.details d where d.owner = $1 and d.thread = $2 and d.agent = $3 and d.revision < $4::bigint`,
  removeSpentOfAgent: `delete from retinue.spent s where s.owner = $1 and s.thread = $2 and s.agent = $3 and s.revision < $4::bigint`,
  lengthOfLog: `select coalesce(max(e.position) + 1, 0) as length from retinue.events e
    where e.owner = $1 and e.thread = $2 and e.agent = $3`,

  storedEvents: `select e.thread, e.agent, e.position, e.revision from retinue.events e
    join unnest($2::text[], $3::text[], $4::integer[]) as d (thread, agent, position)
      on e.thread = d.thread and e.agent = d.agent and e.position = d.position
    where e.owner = $1`,
  removeEvents: `delete from retinue.events e using unnest($2::text[], $3::text[], $4::integer[]) as d (thread, agent, position)
    where e.owner = $1 and e.thread = d.thread and e.agent = d.agent and e.position = d.position`,
  events: `insert into retinue.events (owner, thread, agent, position, bucket, revision, seq, id, at, kind, event, words)
    select $1, d.thread, d.agent, d.position, d.bucket, d.revision, $2, d.id, d.at, d.kind, d.event,
      array_to_tsvector(string_to_array(d.words, ' '))
    from unnest($3::text[], $4::text[], $5::integer[], $6::date[], $7::bigint[], $8::text[], $9::timestamptz[], $10::text[], $11::text[], $12::text[])
      as d (thread, agent, position, bucket, revision, id, at, kind, event, words)`,

  lists: `insert into retinue.lists as l (owner, thread, agent, what, at, revision, seq, items)
    select $1, d.thread, d.agent, d.what, d.at, d.revision, $2, d.items
    from unnest($3::text[], $4::text[], $5::text[], $6::integer[], $7::bigint[], $8::text[]) as d (thread, agent, what, at, revision, items)
    on conflict (owner, thread, agent, what, at) do update set revision = excluded.revision, seq = excluded.seq, items = excluded.items
    where l.revision < excluded.revision
    returning agent`,
  details: `insert into retinue.details as s (owner, thread, agent, what, revision, value)
    select $1, d.thread, d.agent, d.what, d.revision, d.value
    from unnest($2::text[], $3::text[], $4::text[], $5::bigint[], $6::text[]) as d (thread, agent, what, revision, value)
    on conflict (owner, thread, agent, what) do update set revision = excluded.revision, value = excluded.value
    where s.revision < excluded.revision
    returning thread, agent, what`,
  spentOfThreads: `select s.thread, s.row from retinue.spent s where s.owner = $1 and s.thread = any($2::text[])`,
  months: `select m.month::text as month, m.sums from retinue.months m where m.owner = $1 and m.month = any($2::date[])`,
  saveMonths: `insert into retinue.months (owner, month, sums)
    select $1, d.month, d.sums from unnest($2::date[], $3::text[]) as d (month, sums)
    on conflict (owner, month) do update set sums = excluded.sums`,
  dropMonths: `delete from retinue.months m where m.owner = $1 and m.month = any($2::date[])`,
  countSpent: `update retinue.owners o set spent_rows = o.spent_rows + $2::bigint where o.owner = $1`,
  removeSpent: `delete from retinue.spent s using unnest($2::text[], $3::text[]) as d (thread, agent)
    where s.owner = $1 and s.thread = d.thread and s.agent = d.agent`,
  spent: `insert into retinue.spent (owner, thread, agent, n, revision, day, model, type, project, cost_usd, tokens, calls, row)
    select $1, d.thread, d.agent, d.n, d.revision, d.day, d.model, d.type, d.project, d.cost_usd, d.tokens, d.calls, d.row
    from unnest($2::text[], $3::text[], $4::integer[], $5::bigint[], $6::date[], $7::text[], $8::text[], $9::text[], $10::float8[], $11::bigint[], $12::bigint[], $13::text[])
      as d (thread, agent, n, revision, day, model, type, project, cost_usd, tokens, calls, row)`,
} as const;

/** Tells all servers that an owner has a new shipment, or that somebody may see more or less than before. */
export const CHANNEL = "retinue";
export const NOTIFY = "select pg_notify($1, $2)";
