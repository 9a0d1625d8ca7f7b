import { describe, expect, it } from "vitest";
import {
  agent,
  callSpawned,
  LATER,
  lifecycle,
  notebook,
  parentNamed,
  record,
  spawnCalled,
  thread,
} from "../../../test/support/observations.ts";
import { link } from "../link/link.ts";
import { messagesIn } from "./messages.ts";

const main = thread("main");
const [alice, bob] = [agent("main", "a1"), agent("main", "b2")];

function team() {
  const book = notebook();
  book.see({ by: main, at: 0 }, record());
  for (const [who, name] of [
    [alice, "alice"],
    [bob, "bob"],
  ] as const) {
    book.see({ by: who, at: 1 }, parentNamed(who, main));
    book.see({ by: who, at: 1 }, { type: "agent-described", agent: who, name, path: `/root/${name}` });
    book.see({ by: who, at: 2 }, record());
  }
  return book;
}
const messages = (book: ReturnType<typeof notebook>) =>
  messagesIn(link(book.observations, LATER), main).map(({ from, to, revives }) => [from, to, revives]);

describe("messages between agents", () => {
  it("find the recipient by name, id, path or key", () => {
    const book = team();
    book.see({ by: alice, at: 10 }, { type: "message-sent", to: { named: "bob" } });
    book.see({ by: bob, at: 11 }, { type: "message-sent", to: { named: "a1" } });
    book.see({ by: main, at: 12 }, { type: "message-sent", to: { named: "/root/alice" } });
    book.see({ by: bob, at: 13 }, { type: "message-sent", to: main });
    expect(messages(book)).toEqual([
      ["toy://main/a1", "toy://main/b2", false],
      ["toy://main/b2", "toy://main/a1", false],
      ["toy://main", "toy://main/a1", false],
      ["toy://main/b2", "toy://main", false],
    ]);
  });

  it("are listed once if call and result both describe them, and marked as reviving", () => {
    const book = team();
    book.see({ by: main, at: 20_000 }, { type: "message-sent", to: { named: "alice" } });
    book.see({ by: main, at: 20_100 }, lifecycle(alice, "revived"));
    book.see({ by: main, at: 90_000 }, { type: "message-sent", to: { named: "alice" } });
    expect(messages(book)).toEqual([
      ["toy://main", "toy://main/a1", true],
      ["toy://main", "toy://main/a1", false],
    ]);
  });

  it("include calls that continue an existing agent", () => {
    const book = team();
    for (const [id, at] of [
      ["first", 1],
      ["again", 50_000],
    ] as const) {
      book.see({ by: main, at }, spawnCalled(id));
      book.see({ by: main, at }, callSpawned(id, alice));
    }
    expect(messages(book)).toEqual([["toy://main", "toy://main/a1", true]]);
  });

  it("to unknown recipients are omitted", () => {
    const book = team();
    book.see({ by: main, at: 5 }, { type: "message-sent", to: { named: "carol" } });
    book.see({ by: alice, at: 6 }, { type: "message-sent", to: { named: "alice" } });
    expect(messages(book)).toEqual([]);
  });
});
