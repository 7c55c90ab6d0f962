// window.nostr.js, a widget for web pages.

import { widget } from './widget.mjs';

export { refusal } from './widget.mjs';

export const { connect, resume } = widget({
  script: 'window.nostr.js/dist/window.nostr.js',
  async logIn(page, uri) {
    await page.locator('>>> input').fill(uri);
    await page.locator('>>> form button').click();
  },
  confirm: (page) => page.locator('::-p-text(Confirm action)').click(),
});
