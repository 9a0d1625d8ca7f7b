import type { Env } from "../../home.ts";
import { langSmith } from "./langsmith/index.ts";
import type { Manifest } from "./manifest.ts";
import { otlp } from "./otlp/index.ts";

const ALL = [langSmith, otlp] as const;

/** The only list of destinations. */
export const DESTINATIONS: readonly Manifest[] = ALL;

/** Formats that are sent to a service. */
export type SentFormat = (typeof ALL)[number]["format"];
export const SENT_FORMATS: readonly SentFormat[] = ALL.map(({ format }) => format);

/** The settings that turn on sending while agents work, for people. */
export const TRACE_SWITCHES = DESTINATIONS.map((kind) => `${kind.switch}=true`).join(" or ");

/** Whether traces are sent while agents work. */
export const isTracing = (env: Env) => DESTINATIONS.some((kind) => kind.isTracing(env));
