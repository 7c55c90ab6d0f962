// Shows the page anew every three seconds, unless nothing has changed or the tab is hidden.
setInterval(async () => {
  if (document.hidden) return;
  try {
    const response = await fetch(location.href);
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    const [old, now] = [document.querySelector("main"), page.querySelector("main")];
    if (response.ok && now && old.innerHTML !== now.innerHTML) old.replaceWith(now);
  } catch {
    // The service is away. The next attempt may reach it.
  }
}, 3000);
