//! Stripes: the order in which consecutive pages visit the planes.

use flashloom_nand::{Geometry, PlaneId};

use super::Turns;
use crate::params::StripeOrder;

/// A round-robin over all planes.
pub(super) struct Rotation {
    stripe: Vec<PlaneId>,
    at: usize,
}

flashloom_units::state! { Rotation { below at [stripe.len()]; fixed stripe; } }

impl Rotation {
    pub(super) fn new(stripe: Vec<PlaneId>) -> Self {
        Self { stripe, at: 0 }
    }

    /// The next planes, for so many pages.
    pub(super) fn turns(&self, pages: u64) -> Turns {
        let mut planes = self.stripe.clone();
        planes.rotate_left(self.at);
        Turns { planes, pages }
    }

    /// Passes the planes of so many pages.
    pub(super) fn skip(&mut self, pages: u64) {
        let stripe = self.stripe.len() as u64;
        self.at = ((self.at as u64 + pages % stripe) % stripe) as usize;
    }

    /// The next plane.
    #[inline]
    pub(super) fn next(&mut self) -> PlaneId {
        let plane = self.stripe[self.at];
        self.at = if self.at + 1 == self.stripe.len() { 0 } else { self.at + 1 };
        plane
    }
}

/// All planes in the order of a stripe.
pub(crate) fn stripe(geometry: &Geometry, order: StripeOrder) -> Vec<PlaneId> {
    let size = |letter| match letter {
        'C' => geometry.channels,
        'W' => geometry.ways,
        'D' => geometry.dies,
        _ => geometry.planes,
    };
    let plane = |index: u32| {
        let (mut rest, mut at) = (index, [0; 4]);
        for letter in order.name().chars() {
            at["CWDP".find(letter).expect("an order is made of these letters")] = rest % size(letter);
            rest /= size(letter);
        }
        let [channel, way, die, plane] = at;
        PlaneId(((channel * geometry.ways + way) * geometry.dies + die) * geometry.planes + plane)
    };
    (0..geometry.total_planes()).map(plane).collect()
}

/// [`stripe`] with each plane repeated `superpage` times in a row.
pub(crate) fn stripe_of_superpages(geometry: &Geometry, superpage: u32, order: StripeOrder) -> Vec<PlaneId> {
    let planes = stripe(geometry, order).into_iter();
    planes.flat_map(|plane| std::iter::repeat_n(plane, superpage as usize)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashloom_nand::Shape;

    #[test]
    fn every_order_visits_every_plane_once_and_its_first_letter_varies_fastest() {
        let geometry =
            Geometry::new(Shape { channels: 2, ways: 3, dies: 2, planes: 4, blocks: 1, pages: 1, page_bytes: 512 });
        for choice in StripeOrder::CHOICES {
            let order = StripeOrder::named(choice.name).unwrap();
            let mut planes = stripe(&geometry, order);
            let channel = |plane: PlaneId| geometry.channel_of(geometry.die_of(plane));
            assert_eq!(channel(planes[0]) != channel(planes[1]), choice.name.starts_with('C'), "{}", choice.name);
            planes.sort();
            assert!(planes.iter().enumerate().all(|(index, plane)| plane.at() == index));
        }
    }
}
