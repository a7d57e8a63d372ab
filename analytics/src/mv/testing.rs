//! Figures that several tests share.

/// Daily mean temperatures of the worked example, °F (M&V §4.5).
pub const TEMPERATURE: [f64; 12] = [
    30.0, 35.0, 42.0, 50.0, 57.0, 64.0, 70.0, 76.0, 80.0, 72.0, 60.0, 45.0,
];

/// Daily energies of the worked example (M&V §4.5).
pub const ENERGY: [f64; 12] = [
    100.0, 101.0, 99.0, 100.0, 102.0, 110.0, 125.0, 138.0, 149.0, 128.0, 104.0, 100.0,
];
