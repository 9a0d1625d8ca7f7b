import { describe, expect, it } from "vitest";
import { parseAddress } from "./address.ts";

const parse = (address: string, env: Record<string, string> = {}) => parseAddress(address, env, "me");

describe("the address of a database", () => {
  it("has defaults for everything", () => {
    expect(parse("postgres://")).toEqual({
      hosts: [{ name: "localhost", port: 5432 }],
      user: "me",
      password: null,
      database: "me",
      tls: "none",
      isDirectTls: false,
      target: "any",
      pooling: null,
      parameters: { application_name: "retinue" },
    });
  });

  it("names everything, percent-encoded where necessary", () => {
    expect(
      parse("postgresql://a%40b:p%2F:%25w@db.example:5433/my%20db?application_name=x&search_path=y"),
    ).toMatchObject({
      hosts: [{ name: "db.example", port: 5433 }],
      user: "a@b",
      password: "p/:%w",
      database: "my db",
      parameters: { application_name: "x", search_path: "y" },
    });
  });

  it("takes what is missing from the environment", () => {
    const env = { PGHOST: "h", PGPORT: "7", PGUSER: "u", PGPASSWORD: "p", PGDATABASE: "d", PGSSLMODE: "require" };
    expect(parse("postgres://", env)).toMatchObject({
      hosts: [{ name: "h", port: 7 }],
      user: "u",
      password: "p",
      database: "d",
      tls: "unverified",
    });
    expect(parse("postgres://me:mine@here/ours?sslmode=disable", env)).toMatchObject({
      hosts: [{ name: "here", port: 7 }],
      user: "me",
      password: "mine",
      database: "ours",
      tls: "none",
    });
  });

  it.each([
    ["db1,db2:5433", ["db1:5432", "db2:5433"]],
    ["db1:5433,db2", ["db1:5433", "db2:5433"]],
    ["[::1]:5433,[fe80::1]", ["::1:5433", "fe80::1:5433"]],
    ["%2Frun%2Fpostgresql", ["/run/postgresql:5432"]],
    ["%2Frun%2Fpostgresql:5433", ["/run/postgresql:5433"]],
  ])("names hosts: %s", (hosts, expected) => {
    expect(parse(`postgres://u@${hosts}/d`).hosts.map(({ name, port }) => `${name}:${port}`)).toEqual(expected);
  });

  it("may have its parts as parameters", () => {
    const parts = "user=u&password=p%26w&host=/run/a,/run/b&port=7,8&dbname=d";
    expect(parse(`postgres://?${parts}`)).toMatchObject({
      hosts: [
        { name: "/run/a", port: 7 },
        { name: "/run/b", port: 8 },
      ],
      user: "u",
      password: "p&w",
      database: "d",
      parameters: { application_name: "retinue" },
    });
    expect(parse("postgres:///d?host=a,b&port=7").hosts.map(({ port }) => port)).toEqual([7, 7]);
  });

  it("names the folder of a socket as PostgreSQL's own programs write it", () => {
    expect(parse("postgres:///d?host=/run/postgresql").hosts).toEqual([{ name: "/run/postgresql", port: 5432 }]);
  });

  it("of several hosts means the primary, unless it says otherwise", () => {
    expect(parse("postgres://a,b/d").target).toBe("primary");
    expect(parse("postgres://a,b/d?target_session_attrs=prefer-standby").target).toBe("prefer-standby");
    expect(parse("postgres://a/d", { PGTARGETSESSIONATTRS: "read-write" }).target).toBe("read-write");
  });

  it("says whether there is a pooler, and keeps that from the server", () => {
    const { pooling, parameters } = parse("postgres://a/d?pgbouncer=transaction&sslmode=prefer&connect_timeout=3");
    expect([pooling, parameters]).toEqual(["transaction", { application_name: "retinue" }]);
    expect(parse("postgres://a/d?pgbouncer=session").pooling).toBe("session");
  });

  it.each([
    ["sslmode=allow", "preferred"],
    ["sslmode=prefer", "preferred"],
    ["sslmode=require", "unverified"],
    ["ssl=require", "unverified"],
    ["sslmode=verify-ca", "verified"],
    ["sslmode=verify-full", "verified"],
    ["ssl=true", "verified"],
    ["sslrootcert=system", "verified"],
    ["sslmode=disable", "none"],
  ])("says what TLS has to be: %s", (query, tls) => {
    expect(parse(`postgres://a/d?${query}`).tls).toBe(tls);
  });

  it.each([
    ["mysql://a/d", "postgres://user@host/database"],
    ["postgres://u:100%@a/d", "write %25"],
    ["postgres://u:secret@a:port/d", "a:port"],
    ["postgres://a:99999/d", "99999"],
    ["postgres://a/d?port=soon", "soon"],
    ["postgres://a/d?sslmode=maybe", "maybe"],
    ["postgres://a/d?pgbouncer=statement", "session, transaction"],
    ["postgres://a/d?sslrootcert=ca.pem", "NODE_EXTRA_CA_CERTS"],
    ["postgres://a,b/d?target_session_attrs=fastest", "fastest"],
  ])("is refused with the reason: %s", (address, reason) => {
    expect(() => parse(address)).toThrow(reason);
    expect(() => parse(address)).not.toThrow("secret");
  });
});
