/** Statements about tokens, sessions of browsers, teams, budgets and the audit log. These tables are not divided by owner. */
export const TOKENS = {
  create: `insert into retinue.tokens (id, hash, owner, scope, teams, expires_at) values ($1, $2, $3, $4, $5::text[], $6::timestamptz)`,
  share: `insert into retinue.shares (team, owner) select unnest($2::text[]), $1 on conflict do nothing`,
  unshare: `delete from retinue.shares where owner = $1 and team = any($2::text[]) returning team`,
  list: `select t.id, t.owner, t.scope, t.teams, t.created_at, t.expires_at, t.revoked_at from retinue.tokens t order by t.created_at, t.id`,
  revoke: `update retinue.tokens set revoked_at = now() where id = $1 and revoked_at is null returning id`,
  exists: `select t.id from retinue.tokens t where t.id = $1`,
  byHash: `select t.id, t.owner, t.scope, t.teams from retinue.tokens t
    where t.hash = $1 and t.revoked_at is null and (t.expires_at is null or t.expires_at > now())`,
  bySession: `select t.id, t.owner, t.scope, t.teams from retinue.sessions s join retinue.tokens t on t.id = s.token
    where s.hash = $1 and s.expires_at > now() and t.revoked_at is null and (t.expires_at is null or t.expires_at > now())`,
  openSession: `insert into retinue.sessions (hash, token, expires_at) values ($1, $2, now() + interval '30 days')`,
  closeSession: `delete from retinue.sessions where hash = $1`,
  forgetSessions: `delete from retinue.sessions where expires_at < now()`,
  sharedWith: `select distinct s.owner from retinue.shares s where s.team = any($1::text[]) order by 1`,
  everyOwner: `select distinct s.owner from retinue.tokens s where s.scope = 'ship' order by 1`,
  /** The teams of these owners. */
  teamsOf: `select s.team, s.owner from retinue.shares s where s.owner = any($1::text[]) order by 1, 2`,
  setBudget: `insert into retinue.budgets (of, name, usd, set_at) values ($1, $2, $3, now())
    on conflict (of, name) do update set usd = excluded.usd, set_at = excluded.set_at`,
  removeBudget: `delete from retinue.budgets where of = $1 and name = $2 returning name`,
  budgets: `select b.of, b.name, b.usd from retinue.budgets b order by 1, 2`,
  pruned: `select p.day::text as day from retinue.pruned p where p.what = 'events'`,
  raisePruned: `insert into retinue.pruned as p (what, day) values ('events', $1::date)
    on conflict (what) do update set day = greatest(p.day, excluded.day)`,
  /** A change by a command with access to the database. */
  auditChange: `insert into retinue.audit (id, owner, action, subject) values ($1, 'database:' || session_user, $2, $3)`,
  audit: `insert into retinue.audit (id, token, owner, action, subject, thread_owner) values ($1, $2, $3, $4, $5, $6)`,
  /** Before a time in microseconds; of the same time, those with a lower id. */
  audited: `select a.id, a.at, (extract(epoch from a.at) * 1000000)::bigint as micros, a.token, a.owner, a.action, a.subject, a.thread_owner
    from retinue.audit a
    where (a.at, a.id) < (timestamptz 'epoch' + $2::bigint * interval '1 microsecond', $3::text)
    order by a.at desc, a.id desc limit $1`,
} as const;
