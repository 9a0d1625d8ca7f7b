/** Every product starts itself with its shell tool: one tree, whose parent and child the records alone decide. */
import { chmod, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import type { Usage } from "../support/judge.ts";
import { startChatModel } from "./chat-model.ts";
import { CHAT_PRODUCTS } from "./chat-products.ts";
import { keepFixture } from "./keep-fixture.ts";
import { REAL_PRODUCTS } from "./products.ts";
import { type AgentRecord, everyone, threads, tree } from "./retinue.ts";
import type { Sandbox } from "./sandbox.ts";
import { NO_USAGE, sum } from "./usage.ts";

const INSTALL_MS = 600_000;
const SCENARIO_MS = 120_000;
const OUTER = "Ask another agent. @@main";
const INNER = "What is in a.txt, exactly? @@inner";
const ANSWER = "a.txt has one word, alpha.";

interface ShellProduct {
  name: string;
  program: string;
  install(): Promise<string[]>;
  /** Opens a home whose model makes `main` run the command line of the product, and `inner` answer. */
  open(command: string[]): Promise<Opened>;
}

interface Opened {
  sandbox: Sandbox;
  /** What the model served, by script. */
  served(): ReadonlyMap<string, Usage>;
  close(): void | Promise<void>;
}

const ofChat: ShellProduct[] = CHAT_PRODUCTS.map((product) => {
  const { name, install, shell } = product;
  return {
    name,
    program: shell.program,
    install,
    open: async (command) => {
      const model = await startChatModel({
        main: [{ tools: [shell.run(shell.line(INNER))] }, { text: "done" }],
        inner: [{ text: ANSWER }],
      });
      const served = () =>
        new Map([...model.served].map(([script, usage]) => [script, { ...NO_USAGE, ...(usage as Partial<Usage>) }]));
      return { sandbox: await product.open(command, model.url), served, close: () => model.close() };
    },
  };
});

const others: ShellProduct[] = REAL_PRODUCTS.slice(0, 3).map((product) => {
  const { name, install, shell } = product;
  return {
    name,
    program: shell.program,
    install,
    open: async (command) => {
      const model = await product.model({
        main: [shell.run(shell.line(INNER)), { text: "done" }],
        inner: [{ text: ANSWER }],
      });
      const served = () =>
        new Map(
          [...Map.groupBy(model.served(), ({ script }) => script ?? "")].map(([script, all]) => [
            script,
            sum(all.map(({ usage }) => usage)),
          ]),
        );
      return { sandbox: await product.open(command, model.url), served, close: () => model.close() };
    },
  };
});

const PRODUCTS = [...ofChat, ...others];
const commands = new Map<string, string[]>();
beforeAll(async () => {
  for (const product of PRODUCTS) commands.set(product.name, await product.install());
}, INSTALL_MS);

describe("a product that starts itself with its shell tool", () => {
  it.each(PRODUCTS)("$name", { timeout: SCENARIO_MS }, async ({ name, program, open }) => {
    const { sandbox, served, close } = await open(commands.get(name) ?? []);
    onTestFinished(close);
    onTestFinished(() => sandbox.dispose());
    const { launch, home } = sandbox;
    const bin = join(home, "../bin");
    await mkdir(bin);
    const line = launch.command.map((word) => `"${word}"`).join(" ");
    // Copilot removes its settings from the environment of its commands.
    const settings = Object.entries(launch.env).map(([name, value]) => `export ${name}='${value}'`);
    await writeFile(join(bin, program), ["#!/bin/sh", ...settings, `exec ${line} "$@"`, ""].join("\n"));
    await chmod(join(bin, program), 0o755);
    launch.env.PATH = `${bin}:${launch.env.PATH}`;
    const { code, stderr } = await sandbox.start(OUTER).ended;
    expect({ code, stderr: code === 0 ? "" : stderr }).toEqual({ code: 0, stderr: "" });

    const roots: AgentRecord[] = [];
    for (const id of await threads(home)) roots.push(await tree(id, home));
    const agents = roots.flatMap(everyone) as (AgentRecord & { parent: string | null; kind: string })[];
    expect(agents.map(({ prompt }) => /@@(\w+)/.exec(prompt ?? "")?.[1])).toEqual(["main", "inner"]);
    const [outer, inner] = agents;
    expect(inner).toMatchObject({ parent: outer?.uri, kind: "external" });
    const kept = { home, served, calls: () => [], asked: () => false, wrote: () => false };
    const truth = { main: null, inner: "main" };
    await keepFixture(`own-${program}-${program}`, { name, home: kept, roots, tree: truth, shared: {}, undecided: [] });
  });
});
