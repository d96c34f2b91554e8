// The token, which the address that sixbench ui printed has behind #, where no server is sent it. It is held in this
// tab for this origin, which has the port: a server on another port of the same host gets nothing of it.

const NAME = "token", ANSWER_MS = 300;
const others = new BroadcastChannel("sixbench-token");
const held = () => sessionStorage.getItem(NAME);

// A tab that was opened from another one has none, and asks those of this origin. A newer one is for all.
others.addEventListener("message", ({ data }) => {
  if (data.wanted && held()) others.postMessage({ token: held() });
  if (typeof data.token === "string") sessionStorage.setItem(NAME, data.token);
});

// Takes the token out of the address, which no history keeps then.
export async function takeToken() {
  const token = /^#token=([\w-]+)$/.exec(location.hash)?.[1];
  if (token) {
    sessionStorage.setItem(NAME, token);
    history.replaceState(null, "", location.pathname);
    others.postMessage({ token });
  } else if (!held()) {
    others.postMessage({ wanted: true });
    await new Promise((done) => { others.addEventListener("message", done, { once: true }); setTimeout(done, ANSWER_MS); });
  }
}

// As fetch, of this page's own server, with the token.
export const fetchOwn = (path, { headers, ...more } = {}) => fetch(path, { ...more, headers: { ...headers, authorization: `Bearer ${held() ?? ""}` } });
