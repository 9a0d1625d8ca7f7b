import { describeRoute, resolver, validator } from "hono-openapi";
import type * as v from "valibot";
import { refusal, STATUS } from "./failures.ts";
import { Failed } from "./schemas.ts";

const json = (schema: v.GenericSchema) => ({ "application/json": { schema: resolver(schema) } });

/** How the OpenAPI document describes each error. */
const ERRORS: Readonly<Partial<Record<keyof typeof STATUS, string>>> = {
  usage: "Invalid request",
  not_found: "Not found",
  failed: "The operation failed",
  expired: "The cursor has expired; start again without it",
  too_large: "The request body is too large",
  unsupported: "The encoding of the body is not supported",
  invalid: "A shipment contains something that cannot be stored; `document` and `thread` name it",
  unavailable: "Temporarily unavailable: a full disk, a held lock or a damaged index; retry",
};

/** The error responses of a route: the given ones and those that every route may return. */
export function failures(errors: readonly (keyof typeof ERRORS)[]) {
  const codes = [...errors, "forbidden" as const, "unauthorized" as const, "unavailable" as const];
  const responseFor = (code: keyof typeof STATUS) => ({
    description: ERRORS[code] ?? "Access denied: unknown host name, cross-site request or missing token",
    content: json(Failed),
  });
  return Object.fromEntries(codes.map((code) => [STATUS[code], responseFor(code)]));
}

/** Describes a route by its response schema and the common error schema. */
export function describeResponse(
  summary: string,
  schema: v.GenericSchema,
  errors: readonly (keyof typeof ERRORS)[] = [],
) {
  return describeRoute({
    summary,
    responses: { 200: { description: "OK", content: json(schema) }, ...failures(errors) },
  });
}

/** Validates a part of the request; returns errors in the common shape. */
export const checked = <S extends v.GenericSchema, T extends "query" | "json">(target: T, schema: S) =>
  validator(target, schema, (result, c) => {
    if (result.success) return;
    const [issue] = result.error;
    const where =
      issue?.path?.map((part) => (typeof part === "object" ? String(part.key) : String(part))).join(".") ?? "";
    return refusal(
      c,
      "usage",
      `${where === "" ? target : where}: ${issue?.message ?? "invalid"}`,
      "see /api/openapi.json",
    );
  });
