import { describeRoute, resolver, validator } from "hono-openapi";
import type * as v from "valibot";
import { refusal, STATUS } from "./failures.ts";
import { Failed } from "./schemas.ts";

const json = (schema: v.GenericSchema) => ({ "application/json": { schema: resolver(schema) } });

const WRONG: Readonly<Partial<Record<keyof typeof STATUS, string>>> = {
  usage: "The request is not right",
  not_found: "Nothing there",
  failed: "It cannot be done",
  expired: "The cursor is too old: begin anew",
  too_large: "The body is too large",
  unavailable: "Not at the moment: a full disk, a held lock or a damaged index; ask again",
};

/** The answers of a route where something is wrong: those named, and those that every route may give. */
export function failures(wrong: readonly (keyof typeof WRONG)[]) {
  const codes = [...wrong, "forbidden" as const, "unauthorized" as const, "unavailable" as const];
  const of = (code: keyof typeof STATUS) => ({ description: WRONG[code] ?? "Not for you: a wrong name, another site, or no token", content: json(Failed) });
  return Object.fromEntries(codes.map((code) => [STATUS[code], of(code)]));
}

/** A route that answers with this shape, and with the common one where something is wrong. */
export function answers(summary: string, schema: v.GenericSchema, wrong: readonly (keyof typeof WRONG)[] = []) {
  return describeRoute({ summary, responses: { 200: { description: "Fine", content: json(schema) }, ...failures(wrong) } });
}

/** Checks a part of the request; what is wrong with it is told in the common shape. */
export const checked = <S extends v.GenericSchema, T extends "query" | "json">(target: T, schema: S) =>
  validator(target, schema, (result, c) => {
    if (result.success) return;
    const [issue] = result.error;
    const where = issue?.path?.map((part) => (typeof part === "object" ? String(part.key) : String(part))).join(".") ?? "";
    return refusal(c, "usage", `${where === "" ? target : where}: ${issue?.message ?? "not right"}`, "/api/openapi.json says what would be");
  });
