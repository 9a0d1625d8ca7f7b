import type { Story } from "../views/story.ts";
import { foldTree } from "../views/tree-fold.ts";
import type { Redactor } from "./redaction.ts";

export function redacted(story: Story, redactor: Redactor): Story {
  return foldTree<Story, Story>(
    story,
    ({ children }) => children,
    (one, children) => {
      const redact = redactor.events();
      return {
        ...one,
        record: redactor.agent(one.record),
        steps: one.steps.map((step) => ({ ...step, event: redact(step.event) })),
        calls: one.calls.map((call) => redactor.call(call)),
        children,
      };
    },
  );
}
