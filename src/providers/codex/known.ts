import type { Row } from "./rows.ts";

/** Known kinds of lines. `_begin`, `_end` and `_delta` events were written by some versions. */
const KNOWN = new Set(
  [
    "session_meta turn_context world_state compacted token_usage_record inter_agent_communication inter_agent_communication_metadata",
    ...[
      "message agent_message reasoning function_call function_call_output custom_tool_call custom_tool_call_output local_shell_call web_search_call",
      "tool_search_call tool_search_output image_generation_call additional_tools ghost_snapshot compaction compaction_summary context_compaction other",
    ].map((names) => prefixed("response_item", names)),
    ...[
      "task_started task_complete turn_started turn_complete turn_aborted item_started item_completed token_count user_message agent_message agent_reasoning",
      "agent_reasoning_raw_content agent_reasoning_section_break thread_settings_applied thread_name_updated thread_goal_updated sub_agent_activity",
      "context_compacted entered_review_mode exited_review_mode exec_command_end mcp_tool_call_end patch_apply_end web_search_end image_generation_end",
      "view_image_tool_call dynamic_tool_call_request dynamic_tool_call_response guardian_assessment thread_rolled_back undo_completed error warning",
      "collab_agent_spawn_begin collab_agent_spawn_end collab_agent_interaction_begin collab_agent_interaction_end collab_waiting_begin collab_waiting_end",
      "collab_close_begin collab_close_end collab_resume_begin collab_resume_end plan_update background_event deprecation_notice model_reroute",
    ].map((names) => prefixed("event_msg", names)),
  ].flatMap((names) => names.split(" ")),
);

function prefixed(kind: string, names: string): string {
  return names
    .split(" ")
    .map((name) => `${kind}/${name}`)
    .join(" ");
}

export const isKnown = ({ type }: Row) => KNOWN.has(type);
