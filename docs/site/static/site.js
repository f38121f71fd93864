// The copy buttons are visible only while the pointer is over the code, and code can be selected and
// copied with the keyboard. In the tab order, a lesson would have about 50 invisible stops.
window.addEventListener("load", () => {
  for (const button of document.querySelectorAll("button.copybtn")) {
    button.tabIndex = -1;
  }
});
