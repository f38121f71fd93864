// Tell the copy buttons apart: name each one after the first two lines of its code. Only the first is
// in the tab order, because a lesson has about 50; the arrow keys go from one to the next. Report the
// result of copying to screen readers too; the extension shows it only as a tooltip.
window.addEventListener("load", () => {
  const status = document.createElement("div");
  status.className = "visually-hidden";
  status.setAttribute("role", "status");
  document.body.append(status);
  const buttons = [...document.querySelectorAll("button.copybtn")];
  for (const [index, button] of buttons.entries()) {
    button.tabIndex = index ? -1 : 0;
    button.setAttribute("aria-keyshortcuts", "ArrowDown ArrowUp");
    button.addEventListener("keydown", (event) => {
      const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (step && buttons[index + step]) {
        event.preventDefault();
        button.tabIndex = -1;
        buttons[index + step].tabIndex = 0;
        buttons[index + step].focus();
      }
    });
    const code = document.querySelector(button.dataset.clipboardTarget).textContent;
    const copy = button.dataset.tooltip;
    const lines = code.trim().split("\n").slice(0, 2);
    button.setAttribute("aria-label", `${copy}: ${lines.join(" ")}`);
    new MutationObserver(() => {
      const result = button.dataset.tooltip;
      status.textContent = result === copy ? "" : result;
    }).observe(button, { attributeFilter: ["data-tooltip"] });
  }
});
