import { expect, it } from "vitest";
import { passwordIn } from "./password-file.ts";

const LOGIN = { host: "db", port: 5432, database: "retinue", user: "ann" };

it.each([
  ["db:5432:retinue:ann:secret", "secret"],
  ["# db:5432:retinue:ann:no\r\n\r\nother:*:*:*:no\r\n*:*:*:ann:yes\r\n*:*:*:*:late", "yes"],
  ["db:5432:retinue:ann:a\\:b\\\\c", "a:b\\c"],
  ["db:5432:retinue:ann:", ""],
  ["db:5433:retinue:ann:no\ndb:5432:other:ann:no\ndb:5432:retinue:bob:no", null],
  ["db:5432:retinue:ann\ngarbage\n", null],
])("a password is found in %j", (text, expected) => {
  expect(passwordIn(text, LOGIN)).toBe(expected);
});

it("a socket is called localhost, or by its folder", () => {
  expect(passwordIn("/run/postgresql:*:*:*:secret", { ...LOGIN, host: "/run/postgresql" })).toBe("secret");
  expect(passwordIn("localhost:*:*:*:secret", { ...LOGIN, host: "/run/postgresql" })).toBe("secret");
});
