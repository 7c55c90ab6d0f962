
// The end of `api.js` in a build for the vectors, whose module makes identities from seeds.
Identity.fromSeeds = (...seeds) => made(Identity, module.identityFromSeeds(...seeds));
