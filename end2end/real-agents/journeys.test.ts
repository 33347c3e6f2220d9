// The autopilot contract with agents nobody here wrote.
import assert from "node:assert/strict";
import { before, test } from "node:test";
import { versions } from "./agents.ts";
import type { Message, TaskPage } from "../support/board.ts";
import type { Script, Seen } from "./model/server.ts";
import { profileTools } from "./profile.ts";
import { World } from "./world.ts";

const QUESTION = "Which of the two lock files is right?";
const ANSWER = "The newer one is.";
const DONE = "Done: took the newer lock file.";

before(async () => console.log(`# ${await versions()}`));

/** The words of Flightdeck that a hidden block holds after `key: `. */
function field(hidden: string, key: string): string {
  const found = new RegExp(`^${key}: (.+)$`, "m").exec(hidden)?.[1];
  assert.ok(found, `the hidden context has no ${key}:\n${hidden}`);
  return found;
}

/** A parent that splits off an autopilot child and answers its question, and that child. */
function delegation(childProfile: () => string): Script {
  return (prompt) => {
    if (prompt.hidden.includes("AUTOPILOT CHILD QUESTION")) {
      const reply = () => ({
        task_id: field(prompt.hidden, "child_task_id"),
        reply_to_question_id: field(prompt.hidden, "question_id"),
        prompt: ANSWER,
      });
      return { steps: [{ call: "message_task_kandev", input: reply }], say: "Answered." };
    }
    if (prompt.hidden.includes("answered_question_id: ")) return { steps: [], say: DONE };
    if (prompt.hidden.includes("This task is in autopilot mode")) {
      const input = () => ({
        questions: [{ prompt: QUESTION, options: ["The older", "The newer"] }],
        context: "Both claim the port.",
      });
      return { steps: [{ call: "ask_parent_question_kandev", input }], say: "Asked, waiting." };
    }
    const input = () => ({
      title: "Mend the lock file",
      prompt: "Mend the lock file of this project.",
      parent_id: "self",
      autopilot: true,
      agent_profile_id: childProfile(),
    });
    return { steps: [{ call: "create_task_kandev", input }], say: "Delegated." };
  };
}

interface Journey {
  name: string;
  parent: (world: World) => string;
  child: (world: World) => string;
  wires: { parent: Seen["wire"]; child: Seen["wire"] };
  codexModel?: string;
}

const journeys: Journey[] = [
  {
    name: "Claude delegates to Codex, both as they come",
    parent: (world) => firstProfile(world.claude),
    child: (world) => firstProfile(world.codex),
    wires: { parent: "anthropic", child: "openai" },
  },
  {
    name: "Codex delegates to Claude, and a model that gets tools as functions",
    parent: (world) => firstProfile(world.codex),
    child: (world) => firstProfile(world.claude),
    wires: { parent: "openai", child: "anthropic" },
    codexModel: "a-model-codex-does-not-know",
  },
];

function firstProfile({ profiles: [profile] }: World["claude"]): string {
  assert.ok(profile);
  return profile.id;
}

for (const journey of journeys) {
  test(journey.name, async (t) => {
    let child = "";
    const world = await World.start(t, {
      script: delegation(() => child),
      ...(journey.codexModel ? { codexModel: journey.codexModel } : {}),
    });
    child = journey.child(world);
    const parent = await world.delegate(journey.parent(world), "Have the lock file mended.");
    const childId = await world.until("the parent makes a child", async () => (await world.board.children(parent.id))[0]);
    const said = await world.until("the child finishes", async () => {
      const messages = await world.board.messages(childId);
      return messages.some((message) => message.author_type === "agent" && message.content === DONE) && messages;
    });
    const settled = await world.settled(childId);
    await world.settled(parent.id);

    assert.equal(settled.autopilot, true);
    assert.equal(settled.parent_id, parent.id);
    assert.deepEqual(await world.board.children(parent.id), [childId], "one child, however often it is looked at");

    const asked = said.filter((message) => message.type === "clarification_request");
    assert.equal(asked.length, 1, "asked once");
    assert.match(asked[0]?.content ?? "", new RegExp(QUESTION.replace("?", "\\?")));
    assert.equal(asked[0]?.metadata.status, "answered");
    assert.ok(said.some((message) => message.author_type === "user" && message.content.includes(ANSWER)), "the answer arrived");

    // What the models saw.
    const parentSeen = world.model.of(parent.id);
    const childSeen = world.model.of(childId);
    assert.deepEqual([...new Set(parentSeen.map((seen) => seen.wire))], [journey.wires.parent]);
    assert.deepEqual([...new Set(childSeen.map((seen) => seen.wire))], [journey.wires.child]);
    assert.deepEqual(toolsSeen(parentSeen), profileTools("normal task"));
    assert.deepEqual(toolsSeen(childSeen), profileTools("autopilot child"));
    const firstOfChild = childSeen[0]?.prompts[0];
    assert.match(firstOfChild?.hidden ?? "", /This task is in autopilot mode/);
    assert.match(firstOfChild?.hidden ?? "", /ask_parent_question_kandev/);
    assert.equal(firstOfChild?.words, "Mend the lock file of this project.");
    const question = parentSeen.at(-1)?.prompts.at(-1);
    assert.match(question?.hidden ?? "", /AUTOPILOT CHILD QUESTION/);
    assert.match(question?.words ?? "", new RegExp(QUESTION.replace("?", "\\?")));
    assert.ok(!parentSeen[0]?.prompts[0]?.hidden.includes("autopilot mode."), "the parent is not told to be in autopilot mode");
    assert.deepEqual(
      childSeen.at(-1)?.prompts.map((prompt) => prompt.words),
      ["Mend the lock file of this project.", ANSWER],
      "each prompt once, and nothing else",
    );

    await nobodyWasAsked(world, [parent.id, childId]);
    assert.deepEqual(world.trap.wanted, [], "nothing but loopback");
    assert.deepEqual(world.model.problems, []);
  });
}

/** Everything the models knew of, over all requests. */
function toolsSeen(requests: Seen[]): string[] {
  return [...new Set(requests.flatMap((request) => request.tools))].sort();
}

/** No permission request reached the operator (rulings 13), and no second model was asked to judge a tool call. */
async function nobodyWasAsked(world: World, tasks: string[]): Promise<void> {
  for (const task of tasks) {
    const asked = (await world.board.messages(task)).filter((message) => message.type === "permission_request");
    assert.deepEqual(asked, []);
  }
  const titles = [/^<session>\nprompt_id: /, /^Your task is to generate a very short title/];
  const judges = world.model.aside.filter((request) => !titles.some((title) => title.test(request)));
  assert.deepEqual(judges, []);
}

test("built-in tools are allowed in modes that ask for everything, also those that destroy", async (t) => {
  const script: Script = (prompt) => ({
    steps: [
      { call: "create_task_kandev", input: () => ({ title: "Short-lived", parent_id: "self" }) },
      { call: "delete_task_kandev", input: ({ done }) => ({ task_id: createdId(done[0]?.result ?? "") }) },
    ],
    say: `${prompt.words} Done.`,
  });
  const world = await World.start(t, { script });
  for (const [agent, mode] of [[world.claude, "plan"], [world.codex, "read-only"]] as const) {
    const profile = await world.board.post<{ id: string }>("/agent-profiles", { agent_id: agent.id, name: mode, mode });
    const task = await world.delegate(profile.id, `${mode}.`);
    await world.until("the agent has its say", async () => says(await world.board.messages(task.id), `${mode}. Done.`));
    await world.settled(task.id);
    assert.deepEqual(await world.board.children(task.id), [], `${mode}: made and deleted`);
    const calls = world.model.of(task.id).at(-1)?.prompts.at(-1)?.done.map((call) => call.tool);
    assert.deepEqual(calls, ["create_task_kandev", "delete_task_kandev"]);
    await nobodyWasAsked(world, [task.id]);
  }
});

/** The id in the result of a creation, however an agent shows it. */
function createdId(result: string): string {
  const id = /\\?"id\\?":\s*\\?"([0-9a-f-]{36})\\?"/.exec(result)?.[1];
  assert.ok(id, `no id in ${result}`);
  return id;
}

function says(messages: Message[], text: string): boolean {
  return messages.some((message) => message.author_type === "agent" && message.content === text);
}

test("another tool waits for the operator, whose choice counts", async (t) => {
  const script: Script = () => ({
    steps: [{ call: "Bash", input: () => ({ command: "touch made-by-claude", description: "Make a file" }) }],
    say: "Made it.",
  });
  const world = await World.start(t, { script });
  const asks = { agent_id: world.claude.id, name: "asks", mode: "default" };
  const profile = await world.board.post<{ id: string }>("/agent-profiles", asks);
  const task = await world.delegate(profile.id, "Make a file.");
  const request = await world.until("the operator is asked", async () => {
    const page = await world.board.get<TaskPage>(`/tasks/${task.id}/page`);
    return page.permissions[0];
  });
  assert.equal((await world.board.task(task.id)).task_pending_action, "permission");
  const allow = request.options.find((option) => option.kind === "allow_once");
  assert.ok(allow, "there is a way to allow it once");
  await world.board.post(`/permissions/${request.id}/respond`, { option_id: allow.option_id });
  await world.until("the agent goes on", async () => says(await world.board.messages(task.id), "Made it."));
  await world.settled(task.id);
});

test("conversations go on after a restart of the server", async (t) => {
  const script: Script = (prompt) => ({ steps: [], say: `Heard: ${prompt.words}` });
  const world = await World.start(t, { script });
  const tasks: string[] = [];
  for (const agent of [world.claude, world.codex]) {
    const { id } = await world.delegate(firstProfile(agent), "First.");
    await world.until("the first answer", async () => says(await world.board.messages(id), "Heard: First."));
    await world.settled(id);
    tasks.push(id);
  }
  await world.restart();
  for (const id of tasks) {
    await world.board.post(`/tasks/${id}/messages`, { content: "Second." });
    await world.until("the second answer", async () => says(await world.board.messages(id), "Heard: Second."));
    await world.settled(id);
    const last = world.model.of(id).at(-1)?.prompts;
    assert.deepEqual(last?.map((prompt) => prompt.words), ["First.", "Second."], "the model sees both prompts, each once");
    const answers = (await world.board.messages(id)).filter((message) => message.content === "Heard: First.");
    assert.equal(answers.length, 1, "what the agent repeats of its history is not stored again");
  }
});
