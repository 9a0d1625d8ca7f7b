/** Crush and Goose, whose databases are read by their schemas: none of them could be recorded. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Library } from "../../src/app/ingest/library.ts";
import { readMachine } from "../../src/app/machine.ts";
import type { AgentTree } from "../../src/core/views/agent.ts";
import { treeOf } from "../../src/core/views/record.ts";
import { provider as crush } from "../../src/providers/crush/provider.ts";
import { provider as goose } from "../../src/providers/goose/provider.ts";
import { openSqliteStore } from "../../src/stores/sqlite/store.ts";
import { CRUSH_SCHEMA, GOOSE_SCHEMA } from "../support/session-schemas.ts";

let scratch = "";
beforeEach(() => {
  scratch = mkdtempSync(join(tmpdir(), "retinue-tables-"));
});
afterEach(() => rmSync(scratch, { recursive: true, maxRetries: 3 }));

const env = () => ({ HOME: join(scratch, "home"), RETINUE_HOME: join(scratch, "data") });
const FIXED = { now: () => Date.parse("2027-01-01"), liveness: () => "gone" as const, providers: [crush, goose] };
const stated = ({ costUsd }: { readonly costUsd?: number | null }) => costUsd ?? null;

async function treesAtOnce(): Promise<AgentTree[]> {
  const { forest, problems } = await readMachine({ env: env(), ...FIXED });
  expect(problems).toEqual([]);
  return forest.roots.map((key) => treeOf(forest, key, stated));
}

/** A tree in short: id, status, model calls, tokens, cost, children. */
const short = ({ uri, status, usage, prompt, result, type, children }: AgentTree): unknown => ({
  uri,
  status,
  calls: usage.own.calls,
  input: usage.own.inputTokens,
  output: usage.own.outputTokens,
  cost: usage.own.costUsd,
  prompt,
  result,
  ...(type === null ? {} : { type }),
  ...(children.length === 0 ? {} : { children: children.map(short) }),
});

function databaseAt(path: string, schema: string): DatabaseSync {
  mkdirSync(dirname(path), { recursive: true });
  const db = new DatabaseSync(path);
  db.exec(schema);
  return db;
}

const part = (type: string, data: object) => ({ type, data });
const textPart = (text: string) => part("text", { text });

describe("Crush", () => {
  const ROOT = "0b9f2c52-1d52-4f3c-8c3f-6b1f5a0e9d11";
  const [ASKS, CALL] = ["6a0a3f0e-22d7-4f0c-9a51-3d6f3d0f7c01", "call_1"];
  const CHILD = `${ASKS}$$${CALL}`;
  let clock = 1_770_000_000;

  function project(): DatabaseSync {
    const path = join(scratch, "home/work/app");
    const list = join(scratch, "home/.local/share/crush/projects.json");
    mkdirSync(dirname(list), { recursive: true });
    writeFileSync(
      list,
      JSON.stringify({ projects: [{ path, data_dir: ".crush", last_accessed: "2026-08-21T10:00:00Z" }] }),
    );
    return databaseAt(join(path, ".crush/crush.db"), CRUSH_SCHEMA);
  }

  function session(
    db: DatabaseSync,
    id: string,
    parent: string | null,
    tokens: [number, number],
    cost: number,
    title = "Look around",
  ) {
    clock += 1;
    db.prepare(
      "INSERT INTO sessions (id, parent_session_id, title, prompt_tokens, completion_tokens, cost, updated_at, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
    ).run(id, parent, title, ...tokens, cost, clock, clock);
  }

  function message(db: DatabaseSync, id: string, of: string, role: string, parts: readonly object[]) {
    clock += 1;
    db.prepare(
      "INSERT INTO messages (id, session_id, role, parts, model, provider, created_at, updated_at) VALUES (?, ?, ?, ?, 'claude-sonnet', 'anthropic', ?, ?)",
    ).run(id, of, role, JSON.stringify(parts), clock, clock);
    db.prepare("UPDATE sessions SET updated_at = ? WHERE id = ?").run(clock, of);
  }

  const finish = (reason: string, more = {}) => part("finish", { reason, time: clock, ...more });
  const spawn = [
    part("tool_call", { id: CALL, name: "agent", input: JSON.stringify({ prompt: "Find the tests" }), finished: true }),
  ];

  function answered(db: DatabaseSync) {
    session(db, ROOT, null, [900, 40], 0.05);
    session(db, `title-${ROOT}`, ROOT, [5, 5], 0.001, "Generate a title");
    message(db, "u1", ROOT, "user", [textPart("Where are the tests?")]);
    message(db, ASKS, ROOT, "assistant", [...spawn, finish("tool_use")]);
    session(db, CHILD, ROOT, [300, 20], 0.02, "New Agent Session");
    message(db, "c1", CHILD, "user", [textPart("Find the tests")]);
    message(db, "c2", CHILD, "assistant", [
      part("reasoning", { thinking: "In test/." }),
      textPart("They are in test/."),
      finish("end_turn"),
    ]);
    message(db, "t1", ROOT, "tool", [
      part("tool_result", { tool_call_id: CALL, name: "agent", content: "They are in test/.", is_error: false }),
    ]);
    message(db, "a2", ROOT, "assistant", [textPart("In test/."), finish("end_turn")]);
  }

  it("shows a session with its agent, which has its own cost; the parent's includes it and is reduced", async () => {
    const db = project();
    answered(db);
    db.close();
    const [tree, ...others] = await treesAtOnce();
    expect(others).toEqual([]);
    expect(tree === undefined ? null : short(tree)).toEqual({
      uri: `crush://${ROOT}`,
      status: "completed",
      calls: 2,
      input: 900,
      output: 40,
      cost: expect.closeTo(0.03, 9),
      prompt: "Where are the tests?",
      result: "In test/.",
      children: [
        {
          uri: `crush://${ROOT}/${CHILD}`,
          status: "completed",
          calls: 1,
          input: 300,
          output: 20,
          cost: 0.02,
          prompt: "Find the tests",
          result: "They are in test/.",
          type: "task",
        },
      ],
    });
    expect(tree?.title).toBe("Look around");
    expect(tree?.cwd).toBe(join(scratch, "home/work/app"));
    expect(tree?.warnings.join()).toContain("only the tokens of the last model call");
  });

  it.each([
    ["error", "errored"],
    ["content_filter", "errored"],
    ["canceled", "shutdown"],
  ])("an agent whose last response finished with %s is %s", async (reason, status) => {
    const db = project();
    session(db, ROOT, null, [1, 1], 0);
    message(db, ASKS, ROOT, "assistant", [...spawn, finish("tool_use")]);
    session(db, CHILD, ROOT, [1, 1], 0);
    message(db, "c2", CHILD, "assistant", [finish(reason, { message: "Too many requests" })]);
    db.close();
    const [tree] = await treesAtOnce();
    expect(tree?.children.map((child) => child.status)).toEqual([status]);
  });

  it("reads appended messages as if all had been read at once", async () => {
    const db = project();
    session(db, ROOT, null, [10, 1], 0.01);
    for (let i = 0; i < 20; i += 1)
      message(db, `m${i}`, ROOT, i % 2 === 0 ? "user" : "assistant", [
        textPart(`text ${i}`),
        ...(i % 2 === 0 ? [] : [finish("end_turn")]),
      ]);
    const store = await openSqliteStore(join(scratch, "data/index.sqlite"), "test");
    const library = new Library({ env: env(), store, price: stated, ...FIXED });
    await library.refresh();
    message(db, "next", ROOT, "assistant", [textPart("more"), finish("end_turn")]);
    db.prepare("UPDATE sessions SET completion_tokens = 7, cost = 0.02 WHERE id = ?").run(ROOT);
    await library.refresh();
    const forest = library.forestOf(library.store.roots({ under: library.under, limit: 10 }).map(({ key }) => key));
    const trees = forest.roots.map((key) => treeOf(forest, key, stated));
    db.close();
    expect(trees.map(short)).toEqual((await treesAtOnce()).map(short));
    store.close();
  });
});

describe("Goose", () => {
  let clock = 1_779_000_000;

  const database = () => databaseAt(join(scratch, "home/.local/share/goose/sessions/sessions.db"), GOOSE_SCHEMA);

  function session(db: DatabaseSync, id: string, type: string, tokens: [number, number], cost: number) {
    db.prepare(
      "INSERT INTO sessions (id, name, session_type, working_dir, created_at, accumulated_input_tokens, accumulated_output_tokens, accumulated_cost, model_config_json) VALUES (?, ?, ?, '/home/dev/app', '2026-05-21 10:00:00', ?, ?, ?, ?)",
    ).run(
      id,
      type === "sub_agent" ? "Delegated task" : "Tests",
      type,
      ...tokens,
      cost,
      JSON.stringify({ model_name: "gpt-5" }),
    );
  }

  function message(db: DatabaseSync, of: string, role: string, content: readonly object[]) {
    clock += 1;
    db.prepare("INSERT INTO messages (session_id, role, content_json, created_timestamp) VALUES (?, ?, ?, ?)").run(
      of,
      role,
      JSON.stringify(content),
      clock,
    );
  }

  const text = (words: string) => ({ type: "text", text: words });
  const delegate = (id: string, more = {}) => ({
    type: "toolRequest",
    id,
    toolCall: {
      status: "success",
      value: { name: "delegate", arguments: { instructions: "Find the tests", ...more } },
    },
  });
  const returned = (id: string, child: string, words: string, isError = false) => ({
    type: "toolResponse",
    id,
    toolResult: {
      status: "success",
      value: { content: [text(words)], isError, _meta: { subagent_session_id: child } },
    },
  });

  it("links the session that the result of a delegation names, with its own totals", async () => {
    const db = database();
    session(db, "20260521_1", "user", [1_000, 90], 0.5);
    session(db, "20260521_2", "sub_agent", [400, 30], 0.1);
    session(db, "20260521_3", "hidden", [7, 7], 0.1);
    message(db, "20260521_1", "user", [text("Where are the tests?")]);
    message(db, "20260521_1", "assistant", [
      { type: "thinking", thinking: "I ask.", signature: "" },
      delegate("call_1"),
    ]);
    message(db, "20260521_2", "user", [text("Find the tests")]);
    message(db, "20260521_2", "assistant", [text("They are in test/.")]);
    message(db, "20260521_1", "user", [returned("call_1", "20260521_2", "They are in test/.")]);
    message(db, "20260521_1", "assistant", [text("In test/.")]);
    db.close();
    const trees = await treesAtOnce();
    expect(trees.map(short)).toEqual([
      {
        uri: "goose://20260521_1",
        status: "completed",
        calls: 2,
        input: 1_000,
        output: 90,
        cost: 0.5,
        prompt: "Where are the tests?",
        result: "In test/.",
        children: [
          {
            uri: "goose://20260521_1/20260521_2",
            status: "completed",
            calls: 1,
            input: 400,
            output: 30,
            cost: 0.1,
            prompt: "Find the tests",
            result: "They are in test/.",
          },
        ],
      },
    ]);
    expect([trees[0]?.title, trees[0]?.cwd]).toEqual(["Tests", "/home/dev/app"]);
  });

  it("a failed delegation is errored, and one in the background is not ended by its result", async () => {
    const db = database();
    session(db, "20260521_1", "user", [10, 1], 0);
    for (const id of ["20260521_2", "20260521_3"]) session(db, id, "sub_agent", [4, 3], 0);
    message(db, "20260521_1", "assistant", [delegate("a"), delegate("b", { async: true })]);
    message(db, "20260521_3", "user", [text("Find the tests")]);
    message(db, "20260521_1", "user", [
      returned("a", "20260521_2", "Delegation failed: 400", true),
      returned("b", "20260521_3", "Task 20260521_3 started in background"),
    ]);
    db.close();
    const [tree] = await treesAtOnce();
    expect(tree?.children.map(({ agentId, status }) => [agentId, status]).toSorted()).toEqual([
      ["20260521_2", "errored"],
      ["20260521_3", "shutdown"],
    ]);
  });
});

it("a database of an unknown schema is reported", async () => {
  databaseAt(join(scratch, "home/.local/share/goose/sessions/sessions.db"), "CREATE TABLE other (id TEXT)").close();
  const { problems } = await readMachine({ env: env(), ...FIXED });
  expect(problems.map(({ code, detail }) => [code, detail])).toEqual([
    ["database-unknown", expect.stringContaining("no sessions.id")],
  ]);
});
