import { DESTINATIONS, TRACE_SWITCHES } from "../app/export/destinations/index.ts";

const WIDTH = Math.max(...DESTINATIONS.map(({ format }) => format.length)) + 2;

export const EXPORT_HELP = `
${DESTINATIONS.map(({ format, variables }) => `${format.padEnd(WIDTH)}${variables}`).join("\n")}
With ${TRACE_SWITCHES}, a running server or the hooks send traces while agents work.
Items stay in the outbox until the service confirms them: retinue outbox.`;
