// The vendor's client, unmodified, against the fake platform: openclaw_weixin.mjs MODE FOLDER ORIGIN [TOKEN OWNER].
// FOLDER is where it was installed, ORIGIN the platform's. Each mode prints a line "> JSON" for each thing
// that its test looks at.
import { mkdtempSync, writeFileSync } from "node:fs";
import { register } from "node:module";
import { join } from "node:path";
register("./openclaw_host.mjs", import.meta.url);

const [mode, folder, origin, token, owner] = process.argv.slice(2);
const part = (name) => import(`file://${folder}/node_modules/@tencent-weixin/openclaw-weixin/dist/src/${name}.js`);
const say = (what) => process.stdout.write("\n> " + JSON.stringify(what) + "\n");
const at = { baseUrl: origin, token };
const cdnBaseUrl = `${origin}/c2c`;

// Signing in, it knows one host only.
const direct = globalThis.fetch;
globalThis.fetch = (url, options) => direct(String(url).replace("https://ilinkai.weixin.qq.com", origin), options);

async function login() {
  const { startWeixinLoginWithQr, waitForWeixinLogin } = await part("auth/login-qr");
  const { qrcodeUrl, sessionKey } = await startWeixinLoginWithQr({ apiBaseUrl: origin });
  say({ link: qrcodeUrl });
  const { message, ...end } = await waitForWeixinLogin({ sessionKey, apiBaseUrl: origin, timeoutMs: 60_000 });
  say(end);
}

async function poll() {
  const { getUpdates } = await part("api/api");
  let cursor = "";
  for (let n = 0; n < 2; n++) {
    const got = await getUpdates({ ...at, get_updates_buf: cursor });
    say({ ret: got.ret, errcode: got.errcode, ids: got.msgs?.map((m) => m.message_id), texts: got.msgs?.map((m) => m.item_list[0]?.text_item?.text) });
    if (got.errcode) return;
    cursor = got.get_updates_buf;
  }
}

async function talk() {
  const { getUpdates, getConfig, sendTyping, notifyStart, notifyStop } = await part("api/api");
  const { sendMessageWeixin } = await part("messaging/send");
  const { sendWeixinMediaFile } = await part("messaging/send-media");
  const { downloadMediaFromItem } = await part("media/media-download");
  const { weixinMessageToMsgContext } = await part("messaging/inbound");
  await notifyStart(at);
  const { msgs } = await getUpdates({ ...at, get_updates_buf: "" });
  for (const item of msgs.flatMap((m) => m.item_list)) {
    const saved = [];
    const deps = { cdnBaseUrl, label: "test", log: () => {}, errLog: (why) => say({ why }) };
    await downloadMediaFromItem(item, { ...deps, saveMedia: async (data) => { saved.push(data.toString()); return { path: "x" }; } });
    if (saved.length) say({ file: saved });
  }
  const heard = weixinMessageToMsgContext(msgs[0], "account");
  say({ body: heard.Body, quotes: heard.ReplyToId, from: heard.From });
  const ilinkUserId = owner;
  const { typing_ticket } = await getConfig({ ...at, ilinkUserId, contextToken: heard.context_token });
  await sendTyping({ ...at, body: { ilink_user_id: owner, typing_ticket, status: 1 } });
  const opts = { ...at, contextToken: heard.context_token };
  const first = await sendMessageWeixin({ to: owner, text: "once", opts });
  const second = await sendMessageWeixin({ to: owner, text: "twice", opts });
  say({ first: first.serverMessageId, second: second.serverMessageId });
  await sendTyping({ ...at, body: { ilink_user_id: owner, typing_ticket, status: 2 } });
  const dir = mkdtempSync(join(process.env.OPENCLAW_STATE_DIR, "out-"));
  for (const [name, text] of [["a.png", "pixels"], ["a.mp4", "moves"], ["a.txt", "letters"]]) {
    writeFileSync(join(dir, name), text);
    await sendWeixinMediaFile({ filePath: join(dir, name), to: owner, text: "", opts: at, cdnBaseUrl });
  }
  await sendMessageWeixin({ to: "stranger", text: "no", opts: at }).catch((e) => say({ refused: e.message }));
  await notifyStop(at);
}

await { login, poll, talk }[mode]().catch((e) => say({ error: String(e) }));
process.exit(0);
