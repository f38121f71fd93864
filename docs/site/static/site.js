// Tell the copy buttons apart: name each one after the first two lines of its code. Report the
// result of copying to screen readers too; the extension shows it only as a tooltip.
window.addEventListener("load", () => {
  const status = document.createElement("div");
  status.className = "visually-hidden";
  status.setAttribute("role", "status");
  document.body.append(status);
  for (const button of document.querySelectorAll("button.copybtn")) {
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
