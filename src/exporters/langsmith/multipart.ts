import { createHash } from "node:crypto";
import type { RunPlace } from "./names.ts";
import type { Run } from "./runs.ts";

/** An operation on a run: post it complete, post what is known while it runs, or patch its end. */
export interface RunOperation {
  readonly is: "post" | "patch";
  readonly id: string;
  readonly traceId: string;
  /** By part name: the run itself under the empty name, then `.inputs` and so on. */
  readonly parts: Readonly<Record<string, unknown>>;
}

export function postOf(run: Run): RunOperation {
  const { inputs, outputs, events, error, extra, ...body } = run;
  return {
    is: "post",
    id: run.id,
    traceId: run.trace_id,
    parts: known({
      "": body,
      ".inputs": inputs,
      ".outputs": outputs,
      ".events": events,
      ".error": error,
      ".extra": extra,
    }),
  };
}

/** Sends the end of a run that was posted when it began. */
export function patchOf(run: Run): RunOperation {
  const {
    inputs: _,
    outputs,
    events,
    error,
    extra,
    id,
    trace_id,
    parent_run_id,
    dotted_order,
    end_time,
    session_name,
    tags,
  } = run;
  const body = {
    id,
    trace_id,
    ...(parent_run_id === undefined ? {} : { parent_run_id }),
    dotted_order,
    end_time,
    session_name,
    tags,
  };
  return {
    is: "patch",
    id,
    traceId: trace_id,
    parts: known({ "": body, ".outputs": outputs, ".events": events, ".error": error, ".extra": extra }),
  };
}

/** The end of a run that was posted when it began and is no longer in the records. */
export function abandonedRun(
  { id, traceId, parentId, dottedOrder, startTime }: RunPlace,
  project: string,
  at: number,
): RunOperation {
  const end_time = new Date(Math.max(at, Date.parse(startTime))).toISOString();
  const body = {
    id,
    trace_id: traceId,
    ...(parentId === null ? {} : { parent_run_id: parentId }),
    dotted_order: dottedOrder,
    end_time,
    session_name: project,
  };
  return { is: "patch", id, traceId, parts: { "": body, ".error": "interrupted: its records no longer exist" } };
}

const known = (parts: Readonly<Record<string, unknown>>) =>
  Object.fromEntries(Object.entries(parts).filter(([, value]) => value !== undefined));

export interface MultipartBody {
  readonly contentType: string;
  readonly body: Uint8Array;
}

const CRLF = Buffer.of(13, 10);

/** The body of `POST /runs/multipart`. The boundary is a hash of the content, so it cannot occur inside. */
export function multipart(operations: readonly RunOperation[]): MultipartBody {
  const parts = operations.flatMap(({ is, id, parts: named }) =>
    Object.entries(named).map(([name, value]) => ({
      name: `${is}.${id}${name}`,
      json: Buffer.from(JSON.stringify(value)),
    })),
  );
  const digest = createHash("sha256");
  for (const { json } of parts) digest.update(json);
  const boundary = `----RetinueFormBoundary${digest.digest("hex").slice(0, 32)}`;
  const head = ({ name, json }: (typeof parts)[number]) =>
    Buffer.from(
      `--${boundary}\r\nContent-Disposition: form-data; name="${name}"\r\nContent-Type: application/json; length=${json.length}\r\n\r\n`,
    );
  const body = Buffer.concat([
    ...parts.flatMap((part) => [head(part), part.json, CRLF]),
    Buffer.from(`--${boundary}--\r\n`),
  ]);
  return { contentType: `multipart/form-data; boundary=${boundary}`, body };
}
