// Imitates the scripts of Turnstile and hCaptcha. Shows a button, and gives the page an answer when
// somebody presses the button.

const origin = new URL(document.currentScript.src).origin;

const api = {
  render(box, options) {
    const button = document.createElement("button");
    button.id = "scripted-check";
    button.type = "button";
    button.textContent = "I am a person";
    button.addEventListener("click", async () => {
      const bound = options.cData ? `?cdata=${encodeURIComponent(options.cData)}` : "";
      const answer = await fetch(`${origin}/pass${bound}`);
      options.callback(await answer.text());
    });
    box.append(button);
    return "scripted";
  },
};

window.turnstile = api;
window.hcaptcha = api;
