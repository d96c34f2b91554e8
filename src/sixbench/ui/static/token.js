// The token from the address that sixbench ui printed. It stands after #, so browsers send it to no server. It is kept
// in this tab for this origin, which includes the port, so a server on another port of the same host cannot get it.

const NAME = "token", ANSWER_MS = 300;
const others = new BroadcastChannel("sixbench-token");
const held = () => sessionStorage.getItem(NAME);

// A new tab has no token, and asks the other tabs of this origin. A newer token replaces theirs.
others.addEventListener("message", ({ data }) => {
  if (data.wanted && held()) others.postMessage({ token: held() });
  if (typeof data.token === "string") sessionStorage.setItem(NAME, data.token);
});

// Takes the token out of the address, so that no history keeps it.
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

// As fetch, from this page's server, with the token.
export const fetchOwn = (path, { headers, ...more } = {}) => fetch(path, { ...more, headers: { ...headers, authorization: `Bearer ${held() ?? ""}` } });
