import type { RelayGuard } from "../../../core/ports/relay-permissions.ts";
import { asList, asNonBlank, asObject, asText } from "../../../core/tools/json.ts";

/** Spawns of a server: `task` calls that need a permission. A session with a parent is an agent. */
export const relayGuard: RelayGuard = {
  spawnOf({ tool, input }) {
    if (tool !== "task") return null;
    const type = asNonBlank(input.subagent_type) ?? asNonBlank(asList(input.patterns)[0]);
    return { type, description: asNonBlank(input.description) };
  },
  sessionIn(raw) {
    const json = asObject(raw);
    const frame = asObject(json?.payload) ?? json;
    const properties = asObject(frame?.properties);
    const info = asObject(properties?.info);
    switch (asText(frame?.type)) {
      case "session.created":
      case "session.updated": {
        const id = asNonBlank(info?.id);
        return id === null ? null : { id, parent: asNonBlank(info?.parentID), isIdle: false };
      }
      case "session.idle": {
        const id = asNonBlank(properties?.sessionID);
        return id === null ? null : { id, parent: null, isIdle: true };
      }
      default:
        return null;
    }
  },
};
