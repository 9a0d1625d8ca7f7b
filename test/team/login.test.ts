/** How a team server reaches PostgreSQL and proves who it is: passwords, sockets and TLS. */
import { execFileSync } from "node:child_process";
import { chmodSync, chownSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { Failure } from "../../src/app/failure.ts";
import { openTeamStore } from "../../src/app/team/store.ts";
import { openDatabase } from "../../src/stores/postgres/database.ts";
import { type PostgresServer, startPostgres } from "../support/postgres.ts";
import { Sql } from "../support/sql.ts";

const RULES = `local all all trust
host all retinue,idle 127.0.0.1/32 trust
host all all 127.0.0.1/32 scram-sha-256
`;
const SECRET = "p:a\\s/s%";
let folder: string;
let sockets: string;
let server: PostgresServer;
let port: string;
let hasTls = false;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "retinue-postgres-"));
  server = await startPostgres(folder);
  ({ port } = new URL(server.url("")));
  sockets = join(folder, "s");
  mkdirSync(sockets);
  chmodSync(sockets, 0o777);
  const sql = Sql.open(server.url("postgres"));
  await sql.all("create database retinue");
  await sql.all(`create role ann login password '${SECRET}'`);
  await sql.all("create role idle");
  await sql.all("grant all on database retinue to ann");
  await sql.end();
  await server.stop();
  hasTls = certificate();
  writeFileSync(join(folder, "data/pg_hba.conf"), RULES);
  await server.start([`-c unix_socket_directories='${sockets}'`, ...(hasTls ? ["-c ssl=on"] : [])]);
});
afterAll(async () => {
  await server.stop();
  rmSync(folder, { recursive: true });
});
afterEach(() => {
  vi.unstubAllEnvs();
});

/** A certificate that nobody trusts; false if there is no program that makes one. */
function certificate(): boolean {
  const data = join(folder, "data");
  const [key, cert] = [join(data, "server.key"), join(data, "server.crt")];
  const args = ["req", "-new", "-x509", "-nodes", "-subj", "/CN=db.example", "-keyout", key, "-out", cert];
  try {
    execFileSync("openssl", args, { stdio: "ignore" });
  } catch {
    return false;
  }
  const { uid, gid } = statSync(data);
  for (const file of [key, cert]) chownSync(file, uid, gid);
  chmodSync(key, 0o600);
  return readFileSync(cert, "utf8").includes("CERTIFICATE");
}

/** Who the server says that we are, and whether the connection is encrypted. */
async function asked(address: string): Promise<{ name: string; isEncrypted: boolean }> {
  const database = await openDatabase(address);
  try {
    const [row] = await database.all<{ name: string; ssl: boolean }>(
      "select current_user as name, s.ssl from pg_stat_ssl s where s.pid = pg_backend_pid()",
    );
    return { name: row?.name ?? "", isEncrypted: row?.ssl === true };
  } finally {
    await database.close();
  }
}
const ANN = { name: "ann", isEncrypted: false };

describe("a password", () => {
  it("may be in the address, in PGPASSWORD or in a file", async () => {
    expect(await asked(`postgres://ann:${encodeURIComponent(SECRET)}@127.0.0.1:${port}/retinue`)).toEqual(ANN);
    vi.stubEnv("PGPASSWORD", SECRET);
    expect(await asked(`postgres://ann@127.0.0.1:${port}/retinue`)).toEqual(ANN);
    vi.stubEnv("PGPASSWORD", undefined);
    const file = join(folder, "passwords");
    vi.stubEnv("PGPASSFILE", file);
    writeFileSync(file, `127.0.0.1:${port}:retinue:ann:${SECRET.replace(/[:\\]/g, "\\$&")}\n`, { mode: 0o600 });
    expect(await asked(`postgres://ann@127.0.0.1:${port}/retinue`)).toEqual(ANN);
    chmodSync(file, 0o644);
    await expect(asked(`postgres://ann@127.0.0.1:${port}/retinue`)).rejects.toThrow("no password is given");
  });

  it("that is missing or wrong is an error that the user can understand", async () => {
    vi.stubEnv("PGPASSFILE", join(folder, "none"));
    await expect(openTeamStore(`postgres://ann@127.0.0.1:${port}/retinue`)).rejects.toThrow(
      'the database refuses: no password is given for user "ann"',
    );
    await expect(openTeamStore(`postgres://ann:wrong@127.0.0.1:${port}/retinue`)).rejects.toThrow(
      'the database refuses: password authentication failed for user "ann"',
    );
    await expect(openTeamStore(`postgres://ann@127.0.0.1/retinue?sslmode=often`)).rejects.toThrow("often");
  });

  it("that is changed while a server runs makes the database unreachable until it is right again", async () => {
    const sql = Sql.open(server.url("postgres"));
    const database = await openDatabase(`postgres://ann:${encodeURIComponent(SECRET)}@127.0.0.1:${port}/retinue`);
    const ask = () => database.all("select 1 as one");
    try {
      await sql.all("alter role ann password 'other'");
      await expect(ask()).rejects.toMatchObject({ kind: "unreachable", message: expect.stringContaining("password") });
      await sql.all(`alter role ann password '${SECRET}'`);
      expect(await ask()).toEqual([{ one: 1 }]);
    } finally {
      await Promise.all([sql.end(), database.close()]);
    }
  });
});

describe("a login that is refused says what to do", () => {
  const login = (user: string, rest = "") => `postgres://${user}@127.0.0.1:${port}/retinue${rest}`;
  const adviceOn = (address: string) =>
    openTeamStore(address, { searchMs: 100 }).then(
      () => null,
      (error: unknown) => (error instanceof Failure ? error.next.join() : error),
    );

  it.each([
    ["a wrong password", "ann:wrong", "", ".pgpass"],
    ["a user who may not log in", "idle", "", "pg_hba.conf"],
    ["a parameter that the server does not know", "retinue", "?statment_timeout=5", "parameters after the ?"],
    ["a value that the server does not know", "retinue", "?statement_timeout=soon", "parameters after the ?"],
  ])("%s", async (_, user, rest, advice) => {
    expect(await adviceOn(login(user, rest))).toContain(advice);
  });

  it("a certificate that is not trusted", async ({ skip }) => {
    if (!hasTls) skip("no openssl makes a certificate here");
    expect(await adviceOn(login("retinue", "?sslmode=verify-full"))).toContain("NODE_EXTRA_CA_CERTS");
  });

  it("a database to which the user may not connect", async () => {
    const sql = Sql.open(server.url("postgres"));
    await sql.all("revoke connect on database retinue from public");
    await sql.all("revoke connect on database retinue from ann");
    try {
      expect(await adviceOn(login(`ann:${encodeURIComponent(SECRET)}`))).toContain("grant connect on database");
    } finally {
      await sql.all("grant connect on database retinue to public");
      await sql.all("grant connect on database retinue to ann");
      await sql.end();
    }
  });

  it("a schema that another user owns", async () => {
    const sql = Sql.open(server.url("retinue"));
    await sql.all("create schema retinue");
    try {
      expect(await adviceOn(login(`ann:${encodeURIComponent(SECRET)}`))).toContain("own the schema retinue");
    } finally {
      await sql.all("drop schema retinue");
      await sql.end();
    }
  });
});

it("a socket may be named in the address or in PGHOST", async () => {
  expect(await asked(`postgres://ann@${encodeURIComponent(sockets)}:${port}/retinue?sslmode=require`)).toEqual(ANN);
  vi.stubEnv("PGHOST", sockets);
  vi.stubEnv("PGPORT", port);
  expect(await asked("postgres://ann@/retinue")).toEqual(ANN);
});

describe("TLS", () => {
  const address = (mode: string) => `postgres://retinue@127.0.0.1:${port}/retinue?sslmode=${mode}`;

  it("is used if the address asks for it, and its certificate is checked if the address says so", async ({ skip }) => {
    if (!hasTls) skip("no openssl makes a certificate here");
    for (const mode of ["prefer", "require"]) expect((await asked(address(mode))).isEncrypted).toBe(true);
    expect((await asked(address("disable"))).isEncrypted).toBe(false);
    await expect(asked(address("verify-full"))).rejects.toMatchObject({
      kind: "unreachable",
      cause: { code: "DEPTH_ZERO_SELF_SIGNED_CERT" },
    });
  });

  it("is not used if the server has none and it is only preferred", async () => {
    await server.stop();
    await server.start();
    expect((await asked(address("prefer"))).isEncrypted).toBe(false);
    await expect(asked(address("require"))).rejects.toThrow("does not support SSL");
    await expect(openTeamStore(address("require"))).rejects.toMatchObject({
      next: [expect.stringContaining("sslmode=disable")],
    });
  });
});
