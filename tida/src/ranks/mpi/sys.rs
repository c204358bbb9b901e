//! What tida calls of a library of MPI, declared by hand as what it calls of NVIDIA's is
//! (docs/decisions/0031-own-declarations.md).
//!
//! Open MPI and MPICH (and what is made from it: Intel's, Cray's, MVAPICH) have different types for handles: pointers
//! in the one, numbers of 32 bits in the other. Both fit a register, and the storage of a pointer: a handle is a
//! `usize` here, of which MPICH takes the lower half. Constants are chosen by which library it is.

#![allow(non_snake_case)]

use std::ffi::{c_char, c_int, c_void};

use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW};

/// A communicator, type, request, message or other object of MPI.
pub(super) type Handle = usize;

/// Room for a status, of which MPICH has 20 bytes and Open MPI 24: numbers, of which two are a source and a tag.
#[repr(C, align(16))]
#[derive(Debug, Default)]
pub(super) struct Status([c_int; 32]);

/// Messages of any tag.
pub(super) const ANY_TAG: c_int = -1;

macro_rules! functions {
    ($($name:ident($($ty:ty),*);)*) => {
        /// The functions, and what constants are in this library.
        pub(super) struct Mpi {
            $(pub $name: unsafe extern "C" fn($($ty),*) -> c_int,)*
            pub constants: Constants,
            /// It takes addresses of CUDA's memory, as it says itself.
            pub takes_devices: bool,
            library: Library,
        }

        impl Mpi {
            /// Loads a library. The error is a text.
            ///
            /// # Safety
            /// It is a library of MPI, or none that has functions of these names.
            pub unsafe fn open(name: &str) -> Result<Mpi, String> {
                // The modules of Open MPI look for its functions in what is loaded for all.
                // SAFETY: the caller's promise.
                let library = unsafe { Library::open(Some(name), RTLD_NOW | RTLD_GLOBAL) }.map_err(|e| e.to_string())?;
                $(
                    // SAFETY: so MPI declares it, for handles that fit a register.
                    let $name = unsafe { library.get::<unsafe extern "C" fn($($ty),*) -> c_int>(stringify!($name).as_bytes()) };
                    let $name = *$name.map_err(|e| e.to_string())?;
                )*
                let constants = Constants::of(&library)?;
                Ok(Mpi { $($name,)* constants, takes_devices: false, library })
            }
        }
    };
}

impl Mpi {
    /// Asks the library, which has started, whether it takes addresses of CUDA's memory. One that has no such question
    /// does not.
    pub fn ask_for_devices(&mut self) {
        // SAFETY: so Open MPI and MPICH declare it, if they have it.
        let query = unsafe { self.library.get::<unsafe extern "C" fn() -> c_int>(b"MPIX_Query_cuda_support") };
        // SAFETY: it only answers.
        let is_built_so = query.is_ok_and(|query| unsafe { query() } == 1);
        // Open MPI 4 answers how it was built. Whether that was switched off it has in a `bool` of C.
        // SAFETY: only the address is taken.
        let switch = unsafe { self.library.get::<*const u8>(b"opal_cuda_support") };
        let switch = switch.ok().map(|symbol| symbol.into_raw().cast_const().cast::<u8>());
        // SAFETY: a byte of the library, which has set it and changes it no more.
        self.takes_devices = is_built_so && switch.is_none_or(|switch| unsafe { *switch } != 0);
    }
}

functions! {
    MPI_Init_thread(*mut c_int, *mut *mut *mut c_char, c_int, *mut c_int);
    MPI_Finalize();
    MPI_Abort(Handle, c_int);
    MPI_Comm_rank(Handle, *mut c_int);
    MPI_Comm_size(Handle, *mut c_int);
    MPI_Comm_set_errhandler(Handle, Handle);
    MPI_Comm_get_attr(Handle, c_int, *mut c_void, *mut c_int);
    MPI_Comm_dup(Handle, *mut Handle);
    MPI_Comm_split_type(Handle, c_int, c_int, Handle, *mut Handle);
    MPI_Bcast(*mut c_void, c_int, Handle, c_int, Handle);
    MPI_Isend(*const c_void, c_int, Handle, c_int, c_int, Handle, *mut Handle);
    MPI_Irecv(*mut c_void, c_int, Handle, c_int, c_int, Handle, *mut Handle);
    MPI_Improbe(c_int, c_int, Handle, *mut c_int, *mut Handle, *mut Status);
    MPI_Imrecv(*mut c_void, c_int, Handle, *mut Handle, *mut Handle);
    MPI_Get_count(*const Status, Handle, *mut c_int);
    MPI_Test(*mut Handle, *mut c_int, *mut Status);
    MPI_Error_string(c_int, *mut c_char, *mut c_int);
}

/// `MPI_THREAD_FUNNELED`: one thread calls.
pub(super) const FUNNELED: c_int = 1;

/// Constants of a library.
#[derive(Clone, Copy, Debug)]
pub(super) struct Constants {
    pub world: Handle,
    pub byte: Handle,
    pub errors_return: Handle,
    pub info_null: Handle,
    pub any_source: c_int,
    pub tag_ub: c_int,
    pub shared: c_int,
    /// Where the source is in a status; the tag comes after it.
    pub source: usize,
}

impl Constants {
    /// Which rank a message comes from, and its tag.
    pub fn source_and_tag(&self, status: &Status) -> (c_int, c_int) {
        (status.0[self.source], status.0[self.source + 1])
    }

    /// Those of a library that is Open MPI or of MPICH's interface.
    fn of(library: &Library) -> Result<Constants, String> {
        let address = |name: &str| {
            // SAFETY: only the address is taken, whatever is there.
            unsafe { library.get::<*const c_void>(name.as_bytes()) }.map(|symbol| symbol.into_raw() as Handle)
        };
        if let (Ok(world), Ok(byte), Ok(errors_return), Ok(info_null)) = (
            address("ompi_mpi_comm_world"),
            address("ompi_mpi_byte"),
            address("ompi_mpi_errors_return"),
            address("ompi_mpi_info_null"),
        ) {
            return Ok(Constants {
                world,
                byte,
                errors_return,
                info_null,
                any_source: -1,
                tag_ub: 0,
                shared: 0,
                source: 0,
            });
        }
        // A name that MPICH's header makes part of programs.
        if address("MPIR_Dup_fn").is_err() {
            return Err("neither Open MPI nor a library with the interface of MPICH".into());
        }
        let (world, byte, errors_return, info_null) = (0x4400_0000, 0x4c00_010d, 0x5400_0001, 0x1c00_0000);
        Ok(Constants {
            world,
            byte,
            errors_return,
            info_null,
            any_source: -2,
            tag_ub: 0x6440_0001,
            shared: 1,
            source: 2,
        })
    }
}
