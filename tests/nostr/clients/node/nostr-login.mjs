// nostr-login, a widget for web pages.

import { shownError, widget } from './widget.mjs';

export { refusal } from './widget.mjs';

export const { connect, resume } = widget({
  script: 'nostr-login/dist/unpkg.js',
  attributes: 'data-start-screen="login-bunker-url" data-perms="sign_event:1"',
  async logIn(page, uri) {
    await page.locator('>>> nl-signin-bunker-url input').fill(uri);
    await page.locator('>>> nl-signin-bunker-url button').click();
    await shownError(page, () => document.querySelector('nl-auth')?.error);
  },
  async confirm(page) {
    await page.locator('::-p-text(Confirmation required)').wait();
    await page.locator('>>> button-base button').click();
  },
});
