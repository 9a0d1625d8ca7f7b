import type { Target } from "./target.ts";
import { hookSettingsTarget, hookTarget, importTarget, linesTarget, notesTarget } from "./targets/files.ts";
import { httpTarget } from "./targets/http.ts";
import { otlpJsonTarget, protobufTarget } from "./targets/otlp.ts";
import { namesTarget, recordTargets } from "./targets/records.ts";
import { relayTarget } from "./targets/relay.ts";
import { redactorTarget, settingsTarget, timesTarget, uriTarget, valuesTarget } from "./targets/texts.ts";
import { exchangeTarget, packedTarget, sseTarget } from "./targets/wire.ts";

export const TARGETS: readonly Target[] = [
  ...recordTargets,
  namesTarget,
  linesTarget,
  valuesTarget,
  uriTarget,
  timesTarget,
  settingsTarget,
  redactorTarget,
  sseTarget,
  exchangeTarget,
  packedTarget,
  protobufTarget,
  otlpJsonTarget,
  hookTarget,
  hookSettingsTarget,
  relayTarget,
  importTarget,
  notesTarget,
  httpTarget,
];
