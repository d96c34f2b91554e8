// Server-sent events over fetch, since an EventSource cannot show the token. A stream that was cut continues after the
// last event received.

import { fetchOwn } from "./token.js";

const AGAIN_MS = 3000;

export class Stream {
  // `handlers`: by event name, each called with the data of the event; `open`; and `cut`, called with whether it will
  // be tried again.
  constructor(path, handlers) {
    Object.assign(this, { path, handlers, last: "", ending: new AbortController() });
    this.go();
  }

  close() { this.ending.abort(); }

  get closed() { return this.ending.signal.aborted; }

  async go() {
    while (!this.closed) {
      const refused = await this.once().catch(() => false);
      if (this.closed) return;
      this.handlers.cut(!refused);
      if (refused) return;
      await new Promise((done) => setTimeout(done, AGAIN_MS));
    }
  }

  // Reads until the stream is cut. Returns whether the server refused it.
  async once() {
    const answer = await fetchOwn(this.path, { headers: this.last ? { "last-event-id": this.last } : {}, signal: this.ending.signal });
    if (!answer.ok) return true;
    this.handlers.open();
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    let parts = [];
    for (;;) {
      const { done, value } = await reader.read();
      if (done || this.closed) return false;
      // A message may arrive in very many parts, which are joined only once.
      parts.push(value);
      if (!value.includes("\n")) continue;
      const messages = parts.join("").split("\n\n");
      parts = [messages.pop()];
      messages.forEach((message) => this.take(message));
    }
  }

  take(message) {
    const fields = new Map(message.split("\n").map((line) => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 2)]));
    if (fields.has("id")) this.last = fields.get("id");
    if (!this.closed) this.handlers[fields.get("event")]?.(JSON.parse(fields.get("data")));
  }
}
