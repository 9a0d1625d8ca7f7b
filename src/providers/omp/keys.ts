import { keysOf } from "../kit/pi/keys.ts";
import { NAME } from "./manifest.ts";

export const key = keysOf(NAME);
