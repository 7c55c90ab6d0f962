// Hides the forms of decisions again for a second whenever the page comes to the front. The style
// alone does so after the page has loaded.
const WAIT = 1000;
let since = performance.now();
const hide = () => {
  since = performance.now();
  for (const form of document.querySelectorAll("form.decision")) {
    form.classList.remove("decision");
    form.getBoundingClientRect(); // Without it the animation would not start again.
    form.classList.add("decision");
  }
};
addEventListener("focus", hide);
addEventListener("pageshow", hide);
document.addEventListener("visibilitychange", hide);
document.addEventListener("submit", (event) => {
  if (performance.now() - since < WAIT) event.preventDefault();
}, true);
