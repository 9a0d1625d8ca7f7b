/**
 * The reader of recordings: the same rows yield the same findings, whatever else is in the file and wherever the last
 * read stopped.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import { link } from "../../src/core/link/link.ts";
import type { Findings } from "../../src/core/ports/provider.ts";
import { PROVIDERS } from "../../src/providers/loaded.ts";
import { junkRecords } from "../contract/junk.ts";
import { type FixtureSource, readAll } from "../contract/sources.ts";
import { startProxied } from "./proxied.ts";
import { replay, startUpstream, wireOf } from "./wires.ts";

const provider = PROVIDERS.find(({ name }) => name === "proxy");
let sources: FixtureSource[] = [];

beforeAll(async () => {
  const upstream = await startUpstream();
  const proxied = await startProxied(upstream.url);
  await replay(wireOf("claude", "i-custom"), proxied.url, upstream);
  await replay(wireOf("claude", "v2.1.42"), proxied.url, upstream);
  await replay(wireOf("codex", "v2-nested"), proxied.url, upstream);
  await replay(wireOf("claude", "c-nested"), proxied.url, upstream, { headers: () => ({}) });
  await proxied.stop();
  sources = readdirSync(proxied.folder).flatMap((name) => {
    const stream = provider?.recorded?.(name) ?? null;
    const records = readFileSync(join(proxied.folder, name), "utf8")
      .trim()
      .split("\n")
      .map((line) => new TextEncoder().encode(line));
    return stream === null ? [] : [{ name, stream, file: { path: name, bytes: 1 }, records }];
  });
  await proxied.dispose();
  await upstream.close();
});

const plain = (found: readonly Findings[]) => JSON.parse(JSON.stringify(found)) as unknown;

describe("recorded traffic", () => {
  it("is read the same at once and in pieces, from a saved state", () => {
    expect(sources.length).toBe(4);
    for (const { stream, file, records, ...source } of sources) {
      const whole = readAll({ ...source, stream, file, records });
      let saved: unknown;
      const pieces = records.map((record, i) => {
        const parser = stream.open(file, saved);
        const found = parser.push(record, i + 1);
        saved = JSON.parse(JSON.stringify(parser.save()));
        return found;
      });
      expect(plain(pieces)).toEqual(plain(whole));
      expect(whole.flatMap(({ problems }) => problems)).toEqual([]);
    }
  });

  it("never makes its reader throw, whatever it contains", () => {
    fc.assert(
      fc.property(fc.array(junkRecords(sources), { minLength: 1, maxLength: 6 }), fc.nat(), (junk, at) => {
        const observations = junk.flatMap(({ source, record }) => {
          const parser = source.stream.open(source.file);
          const records = source.records.slice(0, 30).toSpliced(at % 30, 0, record);
          return records.flatMap((one, i) => {
            const found = parser.push(one, i + 1);
            expect(parser.events(one, i + 1)).toBeInstanceOf(Array);
            return found.observations;
          });
        });
        expect(link(observations, { now: Date.now(), liveness: () => "unknown" }).roots).toBeInstanceOf(Array);
      }),
      { numRuns: 200 },
    );
  });
});
