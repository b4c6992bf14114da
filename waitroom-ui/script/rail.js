// The search for trains works without this; here stations are suggested while somebody types.

import { $ } from "./core.js";
import { Stations } from "./stations.js";

for (const end of ["from", "to"]) new Stations($(end), $(`${end}-list`));
