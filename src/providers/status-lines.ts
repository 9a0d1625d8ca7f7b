/** The one product that asks others for its status line. Apart from the list of providers, since loading all of those takes longer than it waits. */
export { type StatusAsked, statusAsked } from "./claude/statusline.ts";
