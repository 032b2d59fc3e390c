// The vendor's Node SDK, unmodified, as a client of the fake platform: node_sdk.cjs MODE HOST [APP SECRET].
// Each mode prints a JSON line for each thing that its test looks at.
"use strict";
const lark = require("@larksuiteoapi/node-sdk");
const [mode, host, appId, appSecret] = process.argv.slice(2);
const domain = `https://${host}`;
const say = (what) => process.stdout.write(JSON.stringify(what) + "\n");
const mute = () => {};
const quiet = { logger: { fatal: mute, error: mute, warn: mute, info: mute, debug: mute, trace: mute } };

function listen() {
  let failed = false;
  const eventDispatcher = new lark.EventDispatcher(quiet).register({
    "im.message.receive_v1": async ({ sender, message }) => {
      say({ id: message.message_id, kind: message.message_type, content: message.content, sender: sender.sender_id.open_id });
      if (message.content.includes("fail once") && !failed) {
        failed = true;
        throw new Error("as it was told");
      }
    },
  });
  const client = new lark.WSClient({
    appId, appSecret, domain, ...quiet,
    onReady: () => say({ state: "ready" }),
    onReconnected: () => say({ state: "again" }),
    onError: (e) => { say({ state: "failed", why: e.message }); process.exit(0); },
  });
  client.start({ eventDispatcher });
}

async function talk() {
  const { im } = new lark.Client({ appId, appSecret, domain, ...quiet });
  const [owner, said, key] = process.argv.slice(6);
  const data = { receive_id: owner, msg_type: "text", content: JSON.stringify({ text: "hi" }), uuid: "u-1" };
  const first = await im.message.create({ params: { receive_id_type: "open_id" }, data });
  const again = await im.message.create({ params: { receive_id_type: "open_id" }, data });
  say({ first: first.data.message_id, again: again.data.message_id });
  const image = await im.image.create({ data: { image_type: "message", image: Buffer.from("pixels") } });
  const content = JSON.stringify({ image_key: image.image_key });
  const reply = await im.message.reply({ path: { message_id: said }, data: { msg_type: "image", content } });
  say({ parent: reply.data.parent_id });
  const items = [];
  const page = { container_id_type: "chat", container_id: reply.data.chat_id, page_size: 2 };
  for await (const part of await im.message.listWithIterator({ params: page })) {
    items.push(...part.items.map((m) => m.message_id));
  }
  say({ items });
  const file = await im.messageResource.get({ path: { message_id: said, file_key: key }, params: { type: "file" } });
  const parts = [];
  for await (const part of file.getReadableStream()) parts.push(part);
  say({ file: Buffer.concat(parts).toString() });
}

async function register() {
  const states = [];
  const made = await lark.registerApp({
    domain: `${host}/feishu`, larkDomain: `${host}/lark`,
    onQRCodeReady: ({ url }) => say({ url: url.split("&")[0] }),
    onStatusChange: ({ status }) => states.push(status),
  }).catch((e) => ({ error: e.code }));
  say({ made, states });
}

const run = { listen, talk, register }[mode];
Promise.resolve(run()).catch((e) => {
  say({ error: String(e) });
  process.exit(1);
});
process.stdin.on("end", () => process.exit(0)).resume();
if (mode !== "listen") process.stdin.unref?.();
